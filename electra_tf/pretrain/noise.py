"""Uniform draws of a step: the same with and without XLA, on any number of replicas.

Drawn as floats they would not be: XLA makes the mantissa of other bits of the same integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import tensorflow as tf

from electra_tf.batches import StepKey

_COUNTED_TOGETHER = 4  # Philox makes four numbers of one count


def uniform_rows(
    seed: tf.Tensor, first_row: tf.Tensor | int, num_rows: int, width: int
) -> tf.Tensor:
    """Some rows of a table of uniform draws that has no end, without drawing the others.

    A row depends on the seed, its place in the table and the width alone. Philox turns a count into
    numbers, so a replica starts counting where its rows begin. `tf.random.stateless_uniform` always
    counts from 0; the operation beneath it does not.

    Args:
      seed: int32 [2].
      first_row: int32 scalar, the place of the first row.
      num_rows: B.
      width: draws of a row.

    Returns:
      float32 [B, width] in [0, 1), multiples of 2^-24.
    """
    key = tf.random.stateless_uniform([1], seed, None, None, tf.uint64, alg="philox")
    counts_per_row = -(-width // _COUNTED_TOGETHER)
    first_count = tf.cast(first_row, tf.uint64) * tf.constant(counts_per_row, tf.uint64)
    bits = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[num_rows, counts_per_row * _COUNTED_TOGETHER],
        key=key,
        counter=tf.stack([first_count, tf.constant(0, tf.uint64)]),
        alg=tf.random.Algorithm.PHILOX.value,
        dtype=tf.uint32,
    )
    bits = tf.bitwise.right_shift(bits[:, :width], tf.constant(8, tf.uint32))
    return tf.cast(bits, tf.float32) * 2.0**-24


def drawing_noise(key: StepKey, shape: Sequence[int]) -> tf.Tensor:
    """What the generator's tokens are drawn with.

    Args:
      key: which rows of which global batch are drawn for.
      shape: B and any more.

    Returns:
      float32 of that shape in [0, 1).
    """
    num_rows, *row_shape = shape
    # Masking splits the seed: split here as well, it would give the numbers of masking again.
    seed = tf.random.experimental.stateless_fold_in(key.seed, 1, alg="philox")
    return tf.reshape(uniform_rows(seed, key.first_row, num_rows, math.prod(row_shape)), shape)
