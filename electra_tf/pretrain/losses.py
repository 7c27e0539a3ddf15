"""The two losses of ELECTRA, as sums over tokens divided by *global* counts.

Dividing by the counts of the whole batch, not of one replica's share, makes two replicas give the
numbers of one with twice the batch.

Source: google-research/electra at 8a46635, `run_pretraining.py`. Deviations: there each replica
divides by its own counts; no 1e-6 is added to the denominators here, a batch without any masked
token divides by 1 instead.
"""

from __future__ import annotations

import tensorflow as tf


def masked_lm_losses(logits: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Cross entropy of every slot, 0 in unused ones.

    Args:
      logits: float32 [B, M, V].
      labels: int32 [B, M].
      weights: float32 [B, M].

    Returns:
      float32 [B, M], nats.
    """
    return weights * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def replaced_token_losses(
    logits: tf.Tensor, is_replaced: tf.Tensor, weights: tf.Tensor
) -> tf.Tensor:
    """Sigmoid cross entropy of every real token, [CLS] and [SEP] included; 0 on padding.

    Args:
      logits: float32 [B, L].
      is_replaced: float32 [B, L].
      weights: float32 [B, L], 1 = real token.

    Returns:
      float32 [B, L], nats.
    """
    return weights * tf.nn.sigmoid_cross_entropy_with_logits(labels=is_replaced, logits=logits)


def mean_over(losses: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Sum of all losses over a count of tokens, float32 scalar; 0 where nothing was counted."""
    return tf.reduce_sum(losses) / tf.maximum(count, 1.0)
