"""The losses by hand: natural logarithms, sums over tokens, divided by counts from outside."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.pretrain.losses import masked_lm_losses, mean_over, replaced_token_losses


def test_masked_lm_losses_by_hand():
    logits = tf.constant([[[0.0, 0.0, 0.0, 0.0], [math.log(3.0), 0.0, 0.0, 0.0]]])
    labels = tf.constant([[2, 0]])
    losses = masked_lm_losses(logits, labels, tf.constant([[1.0, 1.0]]))
    # All alike: 1/4. Then 3 / (3 + 1 + 1 + 1) = 1/2.
    np.testing.assert_allclose(losses, [[math.log(4), math.log(2)]], rtol=1e-6)


def test_unused_slots_cost_nothing():
    logits = tf.constant([[[50.0, 0.0], [0.0, 0.0]]])
    losses = masked_lm_losses(logits, tf.constant([[1, 1]]), tf.constant([[0.0, 1.0]]))
    np.testing.assert_allclose(losses, [[0.0, math.log(2)]], rtol=1e-6)


def test_replaced_token_losses_by_hand():
    log_3 = math.log(3.0)  # a chance of 3/4 that the token is replaced
    losses = replaced_token_losses(
        tf.constant([[0.0, log_3, log_3, log_3]]),
        tf.constant([[0.0, 1.0, 0.0, 0.0]]),
        tf.constant([[1.0, 1.0, 1.0, 0.0]]),
    )
    expected = [math.log(2), -math.log(3 / 4), -math.log(1 / 4), 0.0]
    np.testing.assert_allclose(losses, [expected], rtol=1e-6)


@pytest.mark.parametrize("logit", [-200.0, 200.0])
def test_sure_judgements_do_not_overflow(logit):
    label = tf.constant([[1.0 if logit < 0 else 0.0]])
    losses = replaced_token_losses(tf.constant([[logit]]), label, tf.ones([1, 1]))
    np.testing.assert_allclose(losses, [[200.0]])


def test_a_mean_is_over_the_count_of_the_whole_batch():
    losses = tf.constant([[1.0, 2.0], [3.0, 0.0]])
    assert mean_over(losses, tf.constant(3.0)) == 2.0
    assert mean_over(losses, tf.constant(12.0)) == 0.5


def test_a_batch_without_masked_tokens_has_a_loss_of_0_and_a_gradient_of_0():
    logits = tf.Variable(tf.ones([1, 2, 3]))
    with tf.GradientTape() as tape:
        losses = masked_lm_losses(logits, tf.constant([[0, 1]]), tf.zeros([1, 2]))
        loss = mean_over(losses, tf.constant(0.0))
    assert loss == 0.0
    assert not np.any(tape.gradient(loss, logits))
