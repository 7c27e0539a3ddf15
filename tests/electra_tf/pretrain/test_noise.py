"""Noise is uniform, the same when compiled, and a row of it the same whoever draws it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.pretrain.noise import uniform_rows

SEED = tf.constant([8, 9])


def test_rows_are_uniform_and_independent_of_each_other():
    noise = uniform_rows(SEED, 0, 2000, 101).numpy()
    assert noise.dtype == np.float32
    assert noise.min() >= 0.0
    assert noise.max() < 1.0
    counts = np.bincount((noise.ravel() * 20).astype(int), minlength=20)
    assert ((counts - 10_100) ** 2 / 10_100).sum() < 52  # 19 degrees, 1 in 10,000
    assert np.abs(np.corrcoef(noise[:, :20].T) - np.eye(20)).max() < 5 / np.sqrt(2000)
    assert np.abs(np.corrcoef(noise[:50]) - np.eye(50)).max() < 5.5 / np.sqrt(101)


@pytest.mark.parametrize("width", [1, 4, 13])
def test_a_row_is_the_same_whoever_draws_it(width):
    whole = uniform_rows(SEED, 0, 12, width).numpy()
    compiled = tf.function(lambda row: uniform_rows(SEED, row, 3, width), jit_compile=True)
    for first in range(0, 12, 3):
        own = whole[first : first + 3]
        np.testing.assert_array_equal(uniform_rows(SEED, tf.constant(first), 3, width), own)
        np.testing.assert_array_equal(compiled(tf.constant(first)), own)
    assert len(np.unique(whole, axis=0)) == 12
    assert np.any(uniform_rows(tf.constant([8, 10]), 0, 12, width) != whole)


def test_the_last_rows_of_a_large_batch_can_be_drawn():
    rows = uniform_rows(SEED, tf.constant(2**31 - 4), 3, 512).numpy()
    assert np.isfinite(rows).all()
    assert len(np.unique(rows, axis=0)) == 3
