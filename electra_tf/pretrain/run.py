"""One pre-training run, from a config and a folder of records to two encoder folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orbit
import tensorflow as tf

from electra_tf.config import PretrainConfig, load_config
from electra_tf.data.manifest import Manifest, read_manifest
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
from electra_tf.training.checkpoint import restore_newest, run_lock
from electra_tf.training.devices import describe_devices
from electra_tf.training.report import Listener, RunLog


class RunResult(NamedTuple):
    """How a run ended.

    Fields:
      folder: the run folder.
      step: steps trained in all.
      was_finished: True where there was nothing left to do.
      first, last: the metrics of the first and the last evaluation on held-out text.
      unigram_entropy_nats: of the corpus, what a guess without context can reach.
    """

    folder: Path
    step: int
    was_finished: bool
    first: Mapping[str, float]
    last: Mapping[str, float]
    unigram_entropy_nats: float


def pretrain(
    config: PretrainConfig,
    records: str | Path,
    folder: str | Path,
    listener: Listener,
    initial: Sequence[InitialNetwork] = (),
) -> RunResult:
    """Trains until `training.train_steps`, resuming where the folder holds a run already.

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
        another run or to a running process, or a network to start from does not fit.
    """
    folder = Path(folder)
    manifest = read_manifest(records)
    config = agree(config, manifest, Path(records))
    if warning := describe_missing_words(config, manifest):
        listener.say(warning)
    check_fit(initial, config, manifest.vocabulary)
    folder.mkdir(parents=True, exist_ok=True)
    with run_lock(folder):
        claim(folder, config, manifest, [describe(network) for network in initial])
        parts = assemble(config, manifest, Path(records))
        devices = describe_devices(parts.strategy)
        listener.say(f"devices: {devices}")
        write_environment(folder, devices)
        listener.say(describe_sizes(config))
        restored = restore_newest(parts.checkpoint, folder / CHECKPOINTS)
        for path in restored.damaged:
            listener.say(f"{path} is damaged and was left out")
        if restored.path is None:
            _start(parts, initial, manifest, folder, listener)
        log = RunLog(
            folder / METRICS, parts.trainer.data_step, config.training.train_steps, listener
        )
        was_finished = (
            parts.step >= config.training.train_steps
            and is_written(folder)
            and bool(log.evaluations())
        )
        if not was_finished:
            if restored.path:
                listener.say(f"continuing from step {parts.step}")
            _train(config, parts, log, folder)
            write_encoders(folder, config, manifest, Path(records), parts)
        evaluations = log.evaluations()
        return RunResult(
            folder,
            parts.step,
            was_finished,
            evaluations[0],
            evaluations[-1],
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
    return parts.step, parts.evaluator.evaluate()


# --- the outer loop ------------------------------------------------------------------------


def _train(config: PretrainConfig, parts: Parts, log: RunLog, folder: Path) -> None:
    """Orbit's controller between evaluations, whose steps do not depend on where a run resumed."""
    training, every = config.training, config.evaluation.every_steps
    last, step_counter = training.train_steps, parts.trainer.data_step
    manager = tf.train.CheckpointManager(
        parts.checkpoint, str(folder / CHECKPOINTS), max_to_keep=training.keep_checkpoints
    )

    def save_when_due(_: Mapping[str, float]) -> None:
        step = parts.step
        if step % training.checkpoint_every_steps == 0 or step == last:
            manager.save(checkpoint_number=step)
            log.restart_clock()

    def steps_to_next_pause(step: int) -> int:
        pauses = (training.report_every_steps, training.checkpoint_every_steps)
        return min(pause - int(step) % pause for pause in pauses)

    with _orbit_is_silent():
        controller = orbit.Controller(
            global_step=step_counter,
            trainer=parts.trainer,
            evaluator=parts.evaluator,
            strategy=parts.strategy,
            train_actions=[log.trained, save_when_due],
            eval_actions=[log.evaluated],
            steps_per_loop=steps_to_next_pause,
            summary_dir=str(folder / EVENTS / "train"),
            eval_summary_dir=str(folder / EVENTS / "held_out"),
        )
        while True:
            step = parts.step
            if (step % every == 0 or step >= last) and not log.has_evaluation(step):
                controller.evaluate()
            if step >= last:
                break
            controller.train(min(step - step % every + every, last))


@contextlib.contextmanager
def _orbit_is_silent() -> Iterator[None]:
    """Orbit prints a line at every turn; our listener shows the same, once and for people."""
    log = orbit.controller._log
    orbit.controller._log = lambda message: None
    try:
        yield
    finally:
        orbit.controller._log = log
