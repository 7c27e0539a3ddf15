"""Some rows of held-out text as finished networks play them: hidden, filled in, judged."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from electra_tf.batches import StepKey, TokenBatch, is_real
from electra_tf.config import PretrainConfig
from electra_tf.data.manifest import Manifest, VocabularyFacts
from electra_tf.data.pipeline import evaluation_batches
from electra_tf.network.pretrained import Discriminator, Generator
from electra_tf.pretrain.masking import mask
from electra_tf.pretrain.noise import drawing_noise
from electra_tf.pretrain.sampling import corrupt, draw_tokens


class PlayedRow(NamedTuple):
    """One row, padding cut off; every array has one entry a token.

    Fields:
      original_ids, masked_ids, corrupted_ids: int32, before, as the generator and as the
        discriminator read it.
      unit_ids: int32, tokens of one number belong together; 0 = [CLS] and [SEP].
      probabilities: float32, of having been replaced, in the discriminator's eyes.
    """

    original_ids: np.ndarray
    masked_ids: np.ndarray
    corrupted_ids: np.ndarray
    unit_ids: np.ndarray
    probabilities: np.ndarray


def play_held_out(
    generator: Generator,
    discriminator: Discriminator,
    config: PretrainConfig,
    manifest: Manifest,
    records: str | Path,
    count: int,
) -> list[PlayedRow]:
    """Plays the first held-out rows, with the chance of `evaluation.seed`.

    Args:
      generator: fills in.
      discriminator: judges.
      config: whose masking and temperature are used.
      manifest: of the records.
      records: their folder.
      count: rows; all held-out rows where there are fewer.

    Returns:
      The rows.
    """
    count = min(count, manifest.held_out.examples)
    batch = next(
        iter(
            evaluation_batches(
                records,
                manifest.held_out,
                max_length=manifest.max_length,
                batch_size=count,
                max_batches=1,
            )
        )
    )
    return _play(generator, discriminator, config, manifest.vocabulary, batch)


def _play(
    generator: Generator,
    discriminator: Discriminator,
    config: PretrainConfig,
    vocabulary: VocabularyFacts,
    batch: TokenBatch,
) -> list[PlayedRow]:
    # Of the first batch of an evaluation.
    key = StepKey(tf.constant([config.evaluation.seed, 0], tf.int32), tf.constant(0))
    real = is_real(batch.input_ids)
    where = {"is_real": real, "sequence_ids": batch.sequence_ids}
    masked = mask(batch, config.masking, vocabulary, key.seed, key.first_row)
    hidden = generator.encoder(masked.input_ids, masked.segment_ids, **where)
    guesses = generator.head(tf.gather(hidden, masked.positions, batch_dims=1))
    noise = drawing_noise(key, guesses.shape)
    corrupted = corrupt(masked, draw_tokens(guesses, noise, config.objective.temperature))
    hidden = discriminator.encoder(corrupted.input_ids, corrupted.segment_ids, **where)
    probabilities = tf.sigmoid(discriminator.head(hidden))
    columns = (
        batch.input_ids,
        masked.input_ids,
        corrupted.input_ids,
        batch.unit_ids,
        probabilities,
    )
    lengths = tf.reduce_sum(tf.cast(real, tf.int32), axis=1).numpy()
    return [
        PlayedRow(*(column[row, :length].numpy() for column in columns))
        for row, length in enumerate(lengths)
    ]
