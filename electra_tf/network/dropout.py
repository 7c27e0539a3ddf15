"""Dropout whose chance comes in as an argument, so that a step can be repeated to the bit.

Keras' own dropout keeps a hidden state and draws the same mask on every replica.
"""

from __future__ import annotations

import zlib

import tensorflow as tf

ALGORITHM = "philox"
"""`auto_select` gives other bits under XLA. Philox gives the same, as integers: drawn as floats
they are cut to the mantissa at different ends."""

_DRAWS = 2**16
"""Numbers that a draw can be. Drawing is the most expensive part of dropout on a CPU, and half an
integer is enough: a rate of 0.1 becomes 6554 of 65536, or 0.10001."""


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
      rate: share in [0, 1] that becomes zero, rounded to a multiple of 2^-16. 0 adds no operation
        to the graph.
      seed: int32 [2]; None = no dropout.
      path: the name of the place, so that no two places share a mask.

    Returns:
      float32, the shape of `values`.
    """
    if seed is None or rate == 0.0:
        return values
    if rate == 1.0:
        return tf.zeros_like(values)
    dropped_of_all = min(round(rate * _DRAWS), _DRAWS - 1)
    is_kept = _draws(tf.shape(values), fold_in(seed, path)) >= tf.constant(
        dropped_of_all, tf.uint16
    )
    return tf.where(is_kept, values * (_DRAWS / (_DRAWS - dropped_of_all)), 0.0)


def _draws(shape: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """uint16 of a shape, every number equally likely: two of each integer that Philox makes."""
    size = tf.reduce_prod(shape)
    pairs = tf.random.stateless_uniform(
        [(size + 1) // 2], seed, None, None, tf.uint32, alg=ALGORITHM
    )
    return tf.reshape(tf.reshape(tf.bitcast(pairs, tf.uint16), [-1])[:size], shape)
