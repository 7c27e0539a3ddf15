"""Trains nothing, and tells which examples were fed, each at its place in the global batch."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from electra_tf.data.manifest import Split
from electra_tf.data.pipeline import training_batches
from electra_tf.training.trainer import Trainer

BATCH_SIZE = 8
LENGTH = 6
SEED = 3


class Reader(tf.Module):
    """An objective whose only number is the second token of every row."""

    def __init__(self):
        super().__init__()
        self.sum_shapes = {"real_tokens": (), "fed": (BATCH_SIZE,)}
        self.trained_weights = [keras.Variable(np.zeros(1, np.float32), name="weight")]

    def prepare(self, batch, key):
        real = tf.reduce_sum(tf.cast(batch.input_ids > 0, tf.float32))
        return batch.input_ids[:, 1], {"real_tokens": real}

    def loss(self, tokens, counts, key, training):
        places = key.first_row + tf.range(tokens.shape[0])
        fed = tf.math.unsorted_segment_sum(tf.cast(tokens, tf.float32), places, BATCH_SIZE)
        weight = tf.convert_to_tensor(self.trained_weights[0])
        return tf.reduce_sum(weight), {"real_tokens": counts["real_tokens"], "fed": fed}

    def metrics(self, sums):
        return {"fed": sums["fed"].astype(int).tolist()}

    def apply(self, gradients, learning_rate, update_step):
        """As an optimizer it changes nothing."""


class Reading:
    """A run that reads `folder`, which holds shards and `split.json`."""

    def __init__(self, strategy: tf.distribute.Strategy, folder: Path):
        split = Split.model_validate_json((folder / "split.json").read_text())

        def make_dataset(context, first_step):
            return training_batches(
                folder,
                split,
                max_length=LENGTH,
                batch_size=BATCH_SIZE,
                seed=SEED,
                first_step=first_step,
                context=context,
            )

        with strategy.scope():
            reader = Reader()
            self._trainer = Trainer(
                strategy,
                reader,
                reader,
                lambda step: tf.constant(1.0),
                make_dataset,
                batch_size=BATCH_SIZE,
                accumulation_steps=1,
                clip_norm=1.0,
                seed=SEED,
                xla=False,
                max_skipped_steps=0,
            )
            self.checkpoint = tf.train.Checkpoint(**self._trainer.state)

    def steps(self, count: int) -> list[list[int]]:
        """[steps, rows]: the examples of the next global batches."""
        return [self._trainer.train(tf.constant(1))["fed"] for _ in range(count)]
