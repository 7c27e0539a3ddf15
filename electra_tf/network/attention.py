"""Multi-head self-attention."""

from __future__ import annotations

import keras
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.network.dense import Dense, LayerNorm, Precision, matmul
from electra_tf.network.dropout import dropout
from electra_tf.network.weights import truncated_normal

MASKED_SCORE = -10000.0
"""Added to the score of a padded token, as the reference does; float32 exp makes it 0."""


def padding_scores(is_real: tf.Tensor) -> tf.Tensor:
    """What is added to attention scores so that no token looks at padding.

    Args:
      is_real: bool [B, L], False = padding.

    Returns:
      float32 [B, 1, 1, L], 0 for tokens and -10000 for padding.
    """
    is_padding = tf.cast(tf.logical_not(is_real), tf.float32)
    return (is_padding * MASKED_SCORE)[:, tf.newaxis, tf.newaxis, :]


def sequence_scores(sequence_ids: tf.Tensor) -> tf.Tensor:
    """What is added to attention scores so that tokens look at those of their own sequence alone.

    Args:
      sequence_ids: int32 [B, L], 0 = padding.

    Returns:
      float32 [B, 1, L, L], from, to: 0 within a sequence and -10000 elsewhere.
    """
    is_own = sequence_ids[:, :, tf.newaxis] == sequence_ids[:, tf.newaxis, :]
    is_seen = is_own & (sequence_ids[:, tf.newaxis, :] > 0)
    return tf.where(is_seen, 0.0, MASKED_SCORE)[:, tf.newaxis]


class SelfAttention(keras.layers.Layer):
    """Attention, output product, dropout, residual, LayerNorm.

    Source: Vaswani et al. 2017, section 3.2; google-research/electra at 8a46635,
    `model/modeling.py` (attention_layer, transformer_model).

    Args:
      config: sizes.
      seed: of the initial weights.
      precision: type of the products' operands; softmax and LayerNorm are float32.
    """

    def __init__(self, config: EncoderConfig, seed: int, precision: Precision) -> None:
        super().__init__(name="attention", dtype="float32")
        self.config = config
        self.precision = precision
        self.head_size = config.hidden_size // config.num_attention_heads
        initializer = truncated_normal(config.initializer_stddev, seed)
        size = config.hidden_size
        self.query = Dense(size, size, initializer, precision, "query")
        self.key = Dense(size, size, initializer, precision, "key")
        self.value = Dense(size, size, initializer, precision, "value")
        self.output_dense = Dense(size, size, initializer, precision, "output")
        self.layer_norm = LayerNorm(size, config.layer_norm_epsilon)

    def build(self) -> None:
        for dense in (self.query, self.key, self.value, self.output_dense):
            dense.build()
        self.layer_norm.build()

    def call(
        self, hidden: tf.Tensor, padding: tf.Tensor, dropout_seed: tf.Tensor | None = None
    ) -> tf.Tensor:
        """Lets every token look at every token.

        Args:
          hidden: float32 [B, L, H].
          padding: float32 [B, 1, 1, L] of `padding_scores`, or [B, 1, L, L] of `sequence_scores`.
          dropout_seed: int32 [2]; None = no dropout.

        Returns:
          float32 [B, L, H].
        """
        config = self.config
        probabilities = dropout(
            self.probabilities(hidden, padding),
            config.attention_dropout_rate,
            dropout_seed,
            f"{self.path}/probabilities",
        )
        context = matmul(probabilities, self._split_heads(self.value(hidden)), self.precision)
        output = self.output_dense(self._join_heads(context))
        output = dropout(output, config.hidden_dropout_rate, dropout_seed, f"{self.path}/output")
        return self.layer_norm(output + hidden)

    def probabilities(self, hidden: tf.Tensor, padding: tf.Tensor) -> tf.Tensor:
        """How much each token looks at each other, before dropout.

        Args:
          hidden: float32 [B, L, H].
          padding: float32 [B, 1, 1, L] or [B, 1, L, L].

        Returns:
          float32 [B, A, L, L]: row, head, from, to.
        """
        # Scaling the query costs L · H products, scaling the scores L · L · A.
        query = self._split_heads(self.query(hidden) * self.head_size**-0.5)
        key = self._split_heads(self.key(hidden))
        scores = matmul(query, key, self.precision, transpose_right=True)
        return tf.nn.softmax(scores + padding)

    def _split_heads(self, values: tf.Tensor) -> tf.Tensor:
        """float32 [B, L, H] → [B, A, L, H / A]."""
        batch, length = tf.shape(values)[0], tf.shape(values)[1]
        heads = (batch, length, self.config.num_attention_heads, self.head_size)
        return tf.transpose(tf.reshape(values, heads), (0, 2, 1, 3))

    def _join_heads(self, values: tf.Tensor) -> tf.Tensor:
        """float32 [B, A, L, H / A] → [B, L, H]."""
        batch, length = tf.shape(values)[0], tf.shape(values)[2]
        values = tf.transpose(values, (0, 2, 1, 3))
        return tf.reshape(values, (batch, length, self.config.hidden_size))
