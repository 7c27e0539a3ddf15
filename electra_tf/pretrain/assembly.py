"""What a pre-training run is made of: records that fit, networks, optimizer, trainer, evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from electra_tf.config import PretrainConfig, with_vocab_size
from electra_tf.data.manifest import Manifest, check_shards
from electra_tf.data.pipeline import evaluation_batches, training_batches
from electra_tf.encoder_folder import parameter_count
from electra_tf.pretrain.objectives.electra import Electra
from electra_tf.pretrain.word_runs import RUN_LAWS
from electra_tf.training.interruption import StopRequest
from electra_tf.training.limits import Used
from electra_tf.training.loss_scale import LossScale
from electra_tf.training.optimizer import Optimizer
from electra_tf.training.schedule import make_schedule
from electra_tf.training.strategy import make_strategy
from electra_tf.training.trainer import Evaluator, Trainer


class Parts(NamedTuple):
    """What a run is made of, under one strategy."""

    strategy: tf.distribute.Strategy
    objective: Electra
    trainer: Trainer
    evaluator: Evaluator
    seconds: tf.Variable
    stop: StopRequest
    checkpoint: tf.train.Checkpoint

    @property
    def used(self) -> Used:
        """What the run has used up so far, in earlier starts too."""
        return Used(
            steps=int(self.trainer.data_step.numpy()),
            tokens=int(self.trainer.trained_tokens.numpy()),
            seconds=float(self.seconds.numpy()),
        )


def agree(config: PretrainConfig, manifest: Manifest, records: Path) -> PretrainConfig:
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


def describe_missing_words(config: PretrainConfig, manifest: Manifest) -> str | None:
    """What to tell where words are to be hidden together but the records know none."""
    mode, segmenter = config.masking.mode, manifest.segmenter["name"]
    if mode not in ("whole_word", *RUN_LAWS) or segmenter not in ("none", "characters"):
        return None
    unit = "token" if segmenter == "none" else "Chinese character"
    return (
        f"masking.mode is {mode}, but the records were built with segmenter {segmenter}: every "
        f"{unit} counts as a word; build records with another segmenter to hide whole words"
    )


def assemble(config: PretrainConfig, manifest: Manifest, records: Path) -> Parts:
    """Builds networks, optimizer, trainer and evaluator under one strategy."""
    training, length = config.training, config.data.max_length
    strategy = make_strategy(training.strategy)
    stop = StopRequest()

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

    def make_held_out(context: tf.distribute.InputContext) -> tf.data.Dataset:
        return evaluation_batches(
            records,
            manifest.held_out,
            max_length=length,
            batch_size=config.evaluation.batch_size,
            max_batches=config.evaluation.max_batches,
            context=context,
        )

    with strategy.scope():
        objective = Electra(config, manifest.vocabulary)
        optimizer = Optimizer(config.optimizer, objective.trained_weights)
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
            loss_scale=LossScale() if training.precision == "float16" else None,
            stop=stop.flag,
        )
        evaluator = Evaluator(
            strategy,
            objective,
            make_held_out,
            batch_size=config.evaluation.batch_size,
            seed=config.evaluation.seed,
            stop=stop.flag,
        )
        seconds = tf.Variable(0.0, trainable=False, dtype=tf.float64, name="seconds")
        checkpoint = tf.train.Checkpoint(
            weights={v.path: v.value for v in objective.trained_weights},
            optimizer=optimizer,
            seconds=seconds,
            **trainer.state,
        )
    return Parts(strategy, objective, trainer, evaluator, seconds, stop, checkpoint)


def describe_sizes(config: PretrainConfig) -> str:
    """One line for people: the parameters of both networks."""
    discriminator = parameter_count(config.discriminator, "discriminator")
    generator = parameter_count(config.generator, "generator")
    return (
        f"parameters: discriminator {discriminator.backbone:,} + head {discriminator.head:,}, "
        f"generator adds {generator.own:,}, trained in all {discriminator.total + generator.own:,}"
    )
