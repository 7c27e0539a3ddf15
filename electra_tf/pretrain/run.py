"""One pre-training run, from a config and a folder of records to two encoder folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from electra_tf.config import PretrainConfig, load_config
from electra_tf.data.manifest import Manifest, read_manifest
from electra_tf.pretrain.alarms import majority_class, strong_generator
from electra_tf.pretrain.assembly import (
    Parts,
    agree,
    assemble,
    describe_missing_words,
    describe_sizes,
)
from electra_tf.pretrain.encoders import write_encoders
from electra_tf.pretrain.environment import write_environment
from electra_tf.pretrain.initialize import InitialNetwork, check_fit, describe, initialize
from electra_tf.pretrain.run_folder import (
    CHECKPOINTS,
    CONFIG,
    EVENTS,
    METRICS,
    claim,
    is_written,
    read_starts,
)
from electra_tf.training.alarms import Alarms, Check, not_finite, slow_input
from electra_tf.training.checkpoint import Checkpoints, restore_newest, run_lock
from electra_tf.training.devices import describe_devices
from electra_tf.training.limits import Limits
from electra_tf.training.loop import Loop, Pace
from electra_tf.training.report import Listener, RunLog


class RunResult(NamedTuple):
    """How a run ended, or where it was stopped.

    Fields:
      folder: the run folder.
      step: steps trained in all.
      limit: which one ended it: steps, tokens or minutes; None where it was stopped.
      stopped_by: SIGTERM or Ctrl-C, after which the same call goes on; None where it has ended.
      was_finished: True where there was nothing left to do.
      evaluations: the metrics of every evaluation on held-out text, oldest first.
      unigram_entropy_nats: of the corpus, what a guess without context can reach.
    """

    folder: Path
    step: int
    limit: str | None
    stopped_by: str | None
    was_finished: bool
    evaluations: list[Mapping[str, float]]
    unigram_entropy_nats: float


def pretrain(
    config: PretrainConfig,
    records: str | Path,
    folder: str | Path,
    listener: Listener,
    initial: Sequence[InitialNetwork] = (),
) -> RunResult:
    """Trains until a limit of `config.training`, resuming where the folder holds a run already.

    SIGTERM and Ctrl-C end it after the step under way, everything saved.

    Args:
      config: the run.
      records: a folder of records.
      folder: the run folder.
      listener: who shows progress.
      initial: networks to start from. A run that goes on does so from its checkpoint; it may be
        given the same networks again, or none.

    Returns:
      Where everything is and how well both networks do.

    Raises:
      ValueError: records and config disagree, a shard is missing or cut, the folder belongs to
        another run or to a running process, a network to start from does not fit, a checkpoint
        could not be written, or too many gradients in a row were not finite.
    """
    folder, records = Path(folder), Path(records)
    manifest = read_manifest(records)
    config = agree(config, manifest, records)
    if warning := describe_missing_words(config, manifest):
        listener.say(warning)
    check_fit(initial, config, manifest.vocabulary)
    folder.mkdir(parents=True, exist_ok=True)
    with run_lock(folder):
        claim(folder, config, manifest, [describe(network) for network in initial])
        parts = assemble(config, manifest, records)
        devices = describe_devices(parts.strategy)
        listener.say(f"devices: {devices}")
        write_environment(folder, devices)
        listener.say(describe_sizes(config))
        checkpoints = Checkpoints(
            parts.checkpoint, folder / CHECKPOINTS, config.training.keep_checkpoints
        )
        restored = checkpoints.restore()
        for path in restored.damaged:
            listener.say(f"{path} is damaged; it was set aside, and the one before it is used")
        if restored.path is None:
            _start(parts, initial, manifest, folder, listener)
        limits = _limits(config)
        log = RunLog(folder / METRICS, lambda: parts.used, limits, listener)
        limit = limits.reached(parts.used)
        was_finished = limit is not None and log.has_ended() and is_written(folder)
        if not was_finished:
            if restored.path:
                listener.say(f"continuing from step {parts.used.steps:,}")

            def write(best: Mapping[str, float] | None = None) -> None:
                write_encoders(folder, config, manifest, records, parts, best)

            loop = _make_loop(config, parts, checkpoints, log, limits, folder, write)
            with parts.stop.listening(listener.say):
                limit = loop.run()
            if limit:
                write()
                log.ended(limit)
        return RunResult(
            folder,
            parts.used.steps,
            limit,
            None if limit else parts.stop.cause,
            was_finished,
            log.evaluations(),
            manifest.unigram_entropy_nats,
        )


def _start(
    parts: Parts,
    initial: Sequence[InitialNetwork],
    manifest: Manifest,
    folder: Path,
    listener: Listener,
) -> None:
    """Puts the first weights in, where they are not those drawn at random."""
    if not initial and (starts := read_starts(folder)):
        again = " ".join(f"--init-from {start['path']}" for start in starts)
        raise ValueError(f"{folder}: has no checkpoint yet to go on from; give {again} again")
    if initial:
        with parts.strategy.scope():
            for line in initialize(parts.objective, initial, manifest.tokenizer):
                listener.say(line)


def evaluate(folder: str | Path, records: str | Path) -> tuple[int, dict[str, float]]:
    """Evaluates the newest checkpoint of a run on held-out records.

    Args:
      folder: the run folder.
      records: a folder of records that fits the run.

    Returns:
      The step of the checkpoint, and its metrics.

    Raises:
      ValueError: no run or no checkpoint there, or the records do not fit.
    """
    folder = Path(folder)
    config = load_config(PretrainConfig, folder / CONFIG)
    manifest = read_manifest(records)
    parts = assemble(agree(config, manifest, Path(records)), manifest, Path(records))
    if restore_newest(parts.checkpoint, folder / CHECKPOINTS).path is None:
        raise ValueError(f"{folder / CHECKPOINTS}: holds no checkpoint yet")
    return parts.used.steps, parts.evaluator.evaluate()


def _limits(config: PretrainConfig) -> Limits:
    training = config.training
    return Limits(training.train_steps, training.max_tokens, training.max_minutes)


def _make_loop(
    config: PretrainConfig,
    parts: Parts,
    checkpoints: Checkpoints,
    log: RunLog,
    limits: Limits,
    folder: Path,
    write: Callable[[Mapping[str, float]], None],
) -> Loop:
    metric = config.evaluation.best_metric

    def keep_if_best(metrics: Mapping[str, float]) -> None:
        step = parts.used.steps
        if step > 0 and log.is_best(metric, metrics[metric]):
            checkpoints.save_best(step)
            write({metric: metrics[metric]})

    return Loop(
        parts.strategy,
        parts.trainer,
        parts.evaluator,
        checkpoints,
        log,
        limits=limits,
        pace=Pace(
            report=config.training.report_every_steps,
            checkpoint=config.training.checkpoint_every_steps,
            evaluation=config.evaluation.every_steps,
        ),
        alarms=_alarms(config, parts.used.steps),
        seconds=parts.seconds,
        stop=parts.stop,
        after_evaluation=keep_if_best,
        events=folder / EVENTS,
    )


def _alarms(config: PretrainConfig, start: int) -> Alarms:
    """What is looked for from which step on; `start` is where this process begins."""
    training = config.training
    # Every network begins by learning how often tokens are replaced.
    learned = max(config.schedule.warmup_steps, min(training.train_steps // 10, 10_000))
    return Alarms(
        [
            Check("not finite", not_finite),
            Check("slow input", slow_input, start + 2 * training.report_every_steps),
            Check("majority class", majority_class, learned),
            Check("strong generator", strong_generator),
        ]
    )
