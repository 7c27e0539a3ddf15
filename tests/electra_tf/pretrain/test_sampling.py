"""Tokens are drawn as softmax says, and only changed ids count as replaced."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import MaskedBatch
from electra_tf.pretrain.noise import uniform_rows
from electra_tf.pretrain.sampling import corrupt, draw_tokens, unigram_tokens

LOGITS = [2.0, 1.0, 0.0, -1.0, -3.0]
SEED = tf.constant([8, 9])


def noise_of(shape) -> tf.Tensor:
    rows, *row = shape
    return tf.reshape(uniform_rows(SEED, 0, rows, math.prod(row)), shape)


def softmax(logits) -> np.ndarray:
    powers = np.exp(np.asarray(logits) - np.max(logits))
    return powers / powers.sum()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_softmax_says(temperature):
    times = 40_000
    logits = tf.tile(tf.constant([[LOGITS]]), [1, times, 1])
    drawn = draw_tokens(logits, noise_of(logits.shape), temperature)
    found = np.bincount(drawn.numpy()[0], minlength=5) / times
    expected = softmax(np.array(LOGITS) / temperature)
    sigma = np.sqrt(expected * (1 - expected) / times)
    np.testing.assert_allclose(found, expected, atol=4.5 * sigma.max())
    assert np.all(np.abs(found - expected) <= 4.5 * sigma)


def test_a_temperature_near_0_draws_the_likeliest_token():
    logits = tf.constant([[[1.0, 1.1, 0.9]] * 50])
    drawn = draw_tokens(logits, noise_of(logits.shape), temperature=1e-4)
    np.testing.assert_array_equal(drawn, [[1] * 50])


def test_draws_by_hand():
    # Noise of -log(-log(u)): u = 1/e gives 0, u = exp(-1/e) gives 1, u = exp(-e) gives -1.
    zero, plus_1, minus_1 = np.exp(-1.0), np.exp(-np.exp(-1.0)), np.exp(-np.exp(1.0))
    noise = tf.constant([[[zero, zero, zero], [zero, plus_1, zero], [minus_1, zero, zero]]])
    logits = tf.constant([[[0.6, 0.0, 0.3], [0.6, 0.0, 0.3], [0.6, 0.0, 0.3]]])
    # 0.6 wins; then 0 + 1 wins; then 0.6 - 1 loses to 0.3.
    np.testing.assert_array_equal(draw_tokens(logits, tf.cast(noise, tf.float32)), [[0, 1, 2]])


def test_noise_of_0_and_just_under_1_stays_finite():
    edge = np.float32(1 - 2**-24)
    logits = tf.zeros([1, 1, 3])
    assert draw_tokens(logits, tf.constant([[[0.0, edge, 0.5]]])) == 1
    # Noise runs from -log(20.7) = -3.03 to 16.6: logits 25 apart always win.
    logits = tf.constant([[[25.0, 0.0, 0.0]]])
    assert draw_tokens(logits, tf.constant([[[0.0, edge, edge]]])) == 0


def test_drawing_passes_no_gradient():
    logits = tf.Variable([[LOGITS]])
    with tf.GradientTape() as tape:
        drawn = draw_tokens(logits, noise_of([1, 1, 5]))
        loss = tf.reduce_sum(tf.cast(drawn, tf.float32) * 3.0)
    assert tape.gradient(loss, logits) is None


def test_bfloat16_logits_cannot_reach_the_draw():
    logits = tf.zeros([1, 1, 3], tf.bfloat16)
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
        draw_tokens(logits, noise_of([1, 1, 3]))


# --- corrupting ------------------------------------------------------------------------------


@pytest.fixture
def masked():
    """Text 2 5 6 7 8 3 0: 5 and 7 are hidden, 8 is hidden but shown; the third row hides none."""
    original = [[2, 5, 6, 7, 8, 3, 0], [2, 9, 9, 3, 0, 0, 0], [2, 9, 9, 3, 0, 0, 0]]
    return MaskedBatch(
        input_ids=tf.constant(
            [[2, 4, 6, 4, 8, 3, 0], [2, 9, 4, 3, 0, 0, 0], [2, 9, 9, 3, 0, 0, 0]]
        ),
        segment_ids=tf.constant([[0, 0, 0, 1, 1, 1, 0]] * 3),
        positions=tf.constant([[1, 3, 4], [2, 0, 1], [0, 6, 3]]),
        labels=tf.constant([[5, 7, 8], [9, 2, 9], [2, 0, 3]]),
        weights=tf.constant([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        original_ids=tf.constant(original),
    )


def test_drawn_tokens_stand_in_the_original_text_and_count_where_they_differ(masked):
    corrupted = corrupt(masked, tf.constant([[11, 7, 12], [13, 14, 15], [16, 17, 18]]))
    np.testing.assert_array_equal(
        corrupted.input_ids,
        [[2, 11, 6, 7, 12, 3, 0], [2, 9, 13, 3, 0, 0, 0], [2, 9, 9, 3, 0, 0, 0]],
    )
    np.testing.assert_array_equal(
        corrupted.is_replaced, [[0, 1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0, 0], [0] * 7]
    )
    np.testing.assert_array_equal(corrupted.segment_ids, masked.segment_ids)


def test_a_generator_that_is_always_right_replaces_nothing(masked):
    corrupted = corrupt(masked, masked.labels)
    np.testing.assert_array_equal(corrupted.input_ids, masked.original_ids)
    assert not np.any(corrupted.is_replaced)


def test_no_mask_token_is_left_for_the_discriminator(masked):
    assert not np.any(corrupt(masked, masked.labels).input_ids == 4)


def test_corrupting_works_in_a_graph_of_fixed_shape(masked):
    drawn = tf.constant([[11, 7, 12], [13, 14, 15], [16, 17, 18]])
    ours = tf.function(corrupt, jit_compile=True)(masked, drawn)
    for compiled, eager in zip(ours, corrupt(masked, drawn), strict=True):
        np.testing.assert_array_equal(compiled, eager)


def test_unigram_tokens_are_drawn_as_often_as_they_are_masked():
    id_counts = tf.constant([0.0, 2.0, 0.0, 1.0, 1.0, 0.0])
    uniform = tf.constant([[0.0, 0.24, 0.49, 0.5], [0.74, 0.76, 0.99, 1.0 - 2.0**-24]])
    drawn = unigram_tokens(id_counts, uniform).numpy()
    assert drawn.tolist() == [[1, 1, 1, 3], [3, 4, 4, 4]]
