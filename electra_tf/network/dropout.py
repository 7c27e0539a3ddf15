"""Dropout whose chance comes in as an argument, so that a step can be repeated to the bit.

Keras' own dropout keeps a hidden state and draws the same mask on every replica.
"""

from __future__ import annotations

import zlib

import tensorflow as tf

ALGORITHM = "philox"
"""`auto_select` gives other bits under XLA. Philox gives the same, as integers: drawn as floats
they are cut to the mantissa at different ends."""


def fold_in(seed: tf.Tensor, path: str) -> tf.Tensor:
    """A seed of its own for one place in the network.

    Args:
      seed: int32 [2].
      path: the name of the place; equal names give equal seeds.

    Returns:
      int32 [2].
    """
    site = zlib.crc32(path.encode()) & 0x7FFFFFFF
    return tf.random.experimental.stateless_fold_in(seed, site, alg=ALGORITHM)


def dropout(values: tf.Tensor, rate: float, seed: tf.Tensor | None, path: str) -> tf.Tensor:
    """Sets a random share of the values to zero and enlarges the others to keep the mean.

    Args:
      values: float32, any shape.
      rate: share in [0, 1] that becomes zero. 0 adds no operation to the graph.
      seed: int32 [2]; None = no dropout.
      path: the name of the place, so that no two places share a mask.

    Returns:
      float32, the shape of `values`.
    """
    if seed is None or rate == 0.0:
        return values
    if rate == 1.0:
        return tf.zeros_like(values)
    draws = tf.random.stateless_uniform(
        tf.shape(values), fold_in(seed, path), None, None, tf.uint32, alg=ALGORITHM
    )
    is_kept = draws >= tf.constant(round(rate * 2**32), tf.uint32)
    return tf.where(is_kept, values * (1.0 / (1.0 - rate)), 0.0)
