"""One pre-training run, from a config and a folder of records to two encoder folders."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import keras
import orbit
import tensorflow as tf

from electra_tf.config import PretrainConfig, load_config, with_vocab_size
from electra_tf.data.manifest import Manifest, check_shards, read_manifest
from electra_tf.data.pipeline import evaluation_batches, training_batches
from electra_tf.encoder_folder import EncoderFolder, parameter_count, write_encoder_folder
from electra_tf.network.weights import named_weights
from electra_tf.pretrain.objectives.electra import Electra
from electra_tf.pretrain.run_folder import (
    CHECKPOINTS,
    CONFIG,
    ENCODER,
    EVENTS,
    GENERATOR,
    METRICS,
    claim,
    is_written,
)
from electra_tf.training.checkpoint import restore_newest, run_lock
from electra_tf.training.optimizer import ElectraAdam
from electra_tf.training.report import Listener, RunLog
from electra_tf.training.schedule import make_schedule
from electra_tf.training.strategy import describe_devices, make_strategy
from electra_tf.training.trainer import Evaluator, Trainer


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


class _Parts(NamedTuple):
    """What a run is made of, under one strategy."""

    strategy: tf.distribute.Strategy
    objective: Electra
    trainer: Trainer
    evaluator: Evaluator
    checkpoint: tf.train.Checkpoint


def pretrain(
    config: PretrainConfig, records: str | Path, folder: str | Path, listener: Listener
) -> RunResult:
    """Trains until `training.train_steps`, resuming where the folder holds a run already.

    Args:
      config: the run.
      records: a folder of records.
      folder: the run folder.
      listener: who shows progress.

    Returns:
      Where everything is and how well both networks do.

    Raises:
      ValueError: records and config disagree, a shard is missing or cut, or the folder belongs to
        another run or to a running process.
    """
    folder = Path(folder)
    manifest = read_manifest(records)
    config = _agree(config, manifest, Path(records))
    folder.mkdir(parents=True, exist_ok=True)
    with run_lock(folder):
        claim(folder, config, manifest)
        parts = _assemble(config, manifest, Path(records))
        listener.say(f"devices: {describe_devices(parts.strategy)}")
        listener.say(_sizes(config))
        restored = restore_newest(parts.checkpoint, folder / CHECKPOINTS)
        for path in restored.damaged:
            listener.say(f"{path} is damaged and was left out")
        log = RunLog(
            folder / METRICS, parts.trainer.data_step, config.training.train_steps, listener
        )
        was_finished = (
            _step(parts) >= config.training.train_steps
            and is_written(folder)
            and bool(log.evaluations())
        )
        if not was_finished:
            if restored.path:
                listener.say(f"continuing from step {_step(parts)}")
            _train(config, parts, log, folder)
            _write_encoders(folder, config, manifest, Path(records), parts)
        evaluations = log.evaluations()
        return RunResult(
            folder,
            _step(parts),
            was_finished,
            evaluations[0],
            evaluations[-1],
            manifest.unigram_entropy_nats,
        )


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
    parts = _assemble(_agree(config, manifest, Path(records)), manifest, Path(records))
    if restore_newest(parts.checkpoint, folder / CHECKPOINTS).path is None:
        raise ValueError(f"{folder / CHECKPOINTS}: holds no checkpoint yet")
    return _step(parts), parts.evaluator.evaluate()


# --- before training -----------------------------------------------------------------------


def _agree(config: PretrainConfig, manifest: Manifest, records: Path) -> PretrainConfig:
    """Refuses records that the config does not fit; fills in the size of their vocabulary."""
    if manifest.max_length != config.data.max_length:
        raise ValueError(
            f"{records}: the records were built with max_length {manifest.max_length}, but "
            f"data.max_length is {config.data.max_length}; change one of them"
        )
    if manifest.max_unit_tokens > config.masking.max_unit_tokens:
        raise ValueError(
            f"{records}: the records hold units of up to {manifest.max_unit_tokens} tokens, but "
            f"masking.max_unit_tokens is {config.masking.max_unit_tokens}; raise it"
        )
    if not manifest.held_out.examples:
        raise ValueError(
            f"{records}: no document was held out for evaluation; build the records from more "
            f"documents or with a higher held_out_rate"
        )
    for split in (manifest.train, manifest.held_out):
        check_shards(records, split)
    return with_vocab_size(config, manifest.vocabulary.size)


def _assemble(config: PretrainConfig, manifest: Manifest, records: Path) -> _Parts:
    """Builds networks, optimizer, trainer and evaluator under one strategy."""
    training, length = config.training, config.data.max_length
    strategy = make_strategy(training.strategy)

    def make_dataset(context: tf.distribute.InputContext, first_step: int) -> tf.data.Dataset:
        return training_batches(
            records,
            manifest.train,
            max_length=length,
            batch_size=training.batch_size,
            seed=config.seed,
            first_step=first_step,
            context=context,
        )

    with strategy.scope():
        objective = Electra(config, manifest.vocabulary.mask_id)
        optimizer = ElectraAdam(config.optimizer, objective.trained_weights)
        trainer = Trainer(
            strategy,
            objective,
            optimizer,
            make_schedule(config.schedule, config.optimizer.learning_rate, training.train_steps),
            make_dataset,
            batch_size=training.batch_size,
            accumulation_steps=training.accumulation_steps,
            clip_norm=config.optimizer.clip_norm,
            seed=config.seed,
            xla=training.xla,
            max_skipped_steps=training.max_skipped_steps,
        )
        held_out = evaluation_batches(
            records,
            manifest.held_out,
            max_length=length,
            batch_size=config.evaluation.batch_size,
            max_batches=config.evaluation.max_batches,
        )
        evaluator = Evaluator(
            strategy,
            objective,
            held_out,
            batch_size=config.evaluation.batch_size,
            seed=config.evaluation.seed,
        )
        checkpoint = tf.train.Checkpoint(
            weights={v.path: v.value for v in objective.trained_weights},
            optimizer=optimizer,
            data_step=trainer.data_step,
            update_step=trainer.update_step,
            skipped_in_a_row=trainer.skipped_in_a_row,
        )
    return _Parts(strategy, objective, trainer, evaluator, checkpoint)


def _sizes(config: PretrainConfig) -> str:
    discriminator = parameter_count(config.discriminator, "discriminator")
    generator = parameter_count(config.generator, "generator")
    return (
        f"parameters: discriminator {discriminator.backbone:,} + head {discriminator.head:,}, "
        f"generator adds {generator.own:,}, trained in all {discriminator.total + generator.own:,}"
    )


# --- the outer loop ------------------------------------------------------------------------


def _train(config: PretrainConfig, parts: _Parts, log: RunLog, folder: Path) -> None:
    """Orbit's controller between evaluations, whose steps do not depend on where a run resumed."""
    training, every = config.training, config.evaluation.every_steps
    last, step_counter = training.train_steps, parts.trainer.data_step
    manager = tf.train.CheckpointManager(
        parts.checkpoint, str(folder / CHECKPOINTS), max_to_keep=training.keep_checkpoints
    )

    def save_when_due(_: Mapping[str, float]) -> None:
        step = _step(parts)
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
            step = _step(parts)
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


def _step(parts: _Parts) -> int:
    return int(parts.trainer.data_step.numpy())


# --- after training ------------------------------------------------------------------------


def _write_encoders(
    folder: Path, config: PretrainConfig, manifest: Manifest, records: Path, parts: _Parts
) -> None:
    """Hands out both networks, each with all that is needed to use it elsewhere."""
    objective = parts.objective
    networks = (
        (ENCODER, "discriminator", objective.discriminator, objective.replaced_token_head),
        (GENERATOR, "generator", objective.generator, objective.masked_lm_head),
    )
    vocabulary = (records / manifest.vocabulary.file).read_bytes()
    for name, kind, encoder, head in networks:
        variables = named_weights(encoder) | named_weights(head)
        contents = EncoderFolder(
            kind=kind,
            config=getattr(config, kind),
            tokenizer_settings=manifest.tokenizer,
            weights={path: keras.ops.convert_to_numpy(v) for path, v in variables.items()},
            vocabulary_file=manifest.vocabulary.file,
            vocabulary=vocabulary,
            provenance=_provenance(config, manifest, _step(parts)),
        )
        write_encoder_folder(folder / name, contents, overwrite=True)


def _provenance(config: PretrainConfig, manifest: Manifest, step: int) -> dict[str, Any]:
    return {
        "made_by": "electra-tf pretrain",
        "step": step,
        "config": config.model_dump(),
        "records": {
            "vocabulary": manifest.vocabulary.model_dump(),
            "segmenter": manifest.segmenter,
            "corpus": manifest.corpus,
            "train_tokens": manifest.train.tokens,
        },
        "versions": {
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
        },
    }
