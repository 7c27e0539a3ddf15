"""One transformer layer: attention, then the feed-forward block."""

from __future__ import annotations

import keras
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.network.attention import SelfAttention
from electra_tf.network.dense import Dense, LayerNorm, Precision, gelu
from electra_tf.network.dropout import dropout
from electra_tf.network.weights import truncated_normal


class FeedForward(keras.layers.Layer):
    """Product, GELU, product, dropout, residual, LayerNorm.

    Args:
      config: sizes.
      seed: of the initial weights.
      precision: type of the products' operands.
    """

    def __init__(self, config: EncoderConfig, seed: int, precision: Precision) -> None:
        super().__init__(name="feed_forward", dtype="float32")
        self.config = config
        initializer = truncated_normal(config.initializer_stddev, seed)
        outer, inner = config.hidden_size, config.intermediate_size
        self.intermediate = Dense(outer, inner, initializer, precision, "intermediate")
        self.output_dense = Dense(inner, outer, initializer, precision, "output")
        self.layer_norm = LayerNorm(outer, config.layer_norm_epsilon)

    def build(self) -> None:
        self.intermediate.build()
        self.output_dense.build()
        self.layer_norm.build()

    def call(self, hidden: tf.Tensor, dropout_seed: tf.Tensor | None = None) -> tf.Tensor:
        """Works on each token alone.

        Args:
          hidden: float32 [B, L, H].
          dropout_seed: int32 [2]; None = no dropout.

        Returns:
          float32 [B, L, H].
        """
        output = self.output_dense(gelu(self.intermediate(hidden)))
        rate = self.config.hidden_dropout_rate
        output = dropout(output, rate, dropout_seed, f"{self.path}/output")
        return self.layer_norm(output + hidden)


class TransformerLayer(keras.layers.Layer):
    """Self-attention, then the feed-forward block, LayerNorm after each (post-LayerNorm).

    Args:
      config: sizes.
      seed: of the initial weights.
      precision: type of the products' operands.
      name: name of the layer.
    """

    def __init__(self, config: EncoderConfig, seed: int, precision: Precision, name: str) -> None:
        super().__init__(name=name, dtype="float32")
        self.attention = SelfAttention(config, seed, precision)
        self.feed_forward = FeedForward(config, seed, precision)

    def build(self) -> None:
        self.attention.build()
        self.feed_forward.build()

    def call(
        self, hidden: tf.Tensor, padding: tf.Tensor, dropout_seed: tf.Tensor | None = None
    ) -> tf.Tensor:
        """One step of the stack.

        Args:
          hidden: float32 [B, L, H].
          padding: float32 [B, 1, 1, L] of `padding_scores`, or [B, 1, L, L] of `sequence_scores`.
          dropout_seed: int32 [2]; None = no dropout.

        Returns:
          float32 [B, L, H].
        """
        attended = self.attention(hidden, padding, dropout_seed=dropout_seed)
        return self.feed_forward(attended, dropout_seed=dropout_seed)
