"""The two heads of pre-training: which token stood here, and was it replaced."""

from __future__ import annotations

import keras
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.network.dense import Dense, LayerNorm, Precision, affine, gelu
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.weights import glorot_uniform, truncated_normal, weights_beside


class MaskedLMHead(keras.layers.Layer):
    """The generator's head: scores every word of the vocabulary, by the shared word table.

    Source: google-research/electra at 8a46635, `pretrain/pretrain_helpers.py` and
    `run_pretraining.py` (_get_masked_lm_output).

    Args:
      config: sizes of the generator.
      embeddings: the block whose word table is used.
      seed: of the initial weights.
      precision: type of the products' operands.
      name: name of the layer.
    """

    def __init__(
        self,
        config: EncoderConfig,
        embeddings: Embeddings,
        seed: int,
        precision: Precision = "float32",
        name: str = "masked_lm_head",
    ) -> None:
        super().__init__(name=name, dtype="float32")
        self.config = config
        self.embeddings = embeddings
        self.precision = precision
        initializer = truncated_normal(config.initializer_stddev, seed)
        self.dense = Dense(
            config.hidden_size, config.embedding_size, initializer, precision, "dense"
        )
        self.layer_norm = LayerNorm(config.embedding_size, config.layer_norm_epsilon)
        self.build()

    def build(self) -> None:
        self.dense.build()
        self.layer_norm.build()
        rows = self.embeddings.config.vocab_size
        self.output_bias = self.add_weight(shape=(rows,), initializer="zeros", name="output_bias")

    def call(self, hidden: tf.Tensor) -> tf.Tensor:
        """Scores the vocabulary at the masked slots.

        Args:
          hidden: float32 [B, M, H], already gathered at the slots.

        Returns:
          float32 [B, M, V], logits.
        """
        values = self.layer_norm(gelu(self.dense(hidden)))
        table = tf.convert_to_tensor(self.embeddings.word_embeddings)
        bias = tf.convert_to_tensor(self.output_bias)
        return affine(values, table, bias, self.precision, transpose_kernel=True)

    @property
    def own_weights(self) -> list[keras.Variable]:
        """The variables that are not part of the shared embeddings."""
        return weights_beside(self, self.embeddings)

    @property
    def folder_parts(self) -> list[tuple[keras.layers.Layer, str]]:
        """What an encoder folder holds of this head, and the first part of the names there."""
        return [(self, "masked_lm_head/")]


class ReplacedTokenHead(keras.layers.Layer):
    """The discriminator's head: one logit a token, positive = replaced.

    Source: google-research/electra at 8a46635, `run_pretraining.py`
    (_get_discriminator_output).

    Args:
      config: sizes of the discriminator.
      seed: of the initial weights.
      precision: type of the products' operands.
      name: name of the layer.
    """

    def __init__(
        self,
        config: EncoderConfig,
        seed: int,
        precision: Precision = "float32",
        name: str = "replaced_token_head",
    ) -> None:
        super().__init__(name=name, dtype="float32")
        size = config.hidden_size
        initializer = truncated_normal(config.initializer_stddev, seed)
        self.dense = Dense(size, size, initializer, precision, "dense")
        self.output_dense = Dense(size, 1, glorot_uniform(seed), precision, "output")
        self.build()

    def build(self) -> None:
        self.dense.build()
        self.output_dense.build()

    def call(self, hidden: tf.Tensor) -> tf.Tensor:
        """Judges every token.

        Args:
          hidden: float32 [B, L, H].

        Returns:
          float32 [B, L], logits.
        """
        return tf.squeeze(self.output_dense(gelu(self.dense(hidden))), axis=-1)

    @property
    def own_weights(self) -> list[keras.Variable]:
        """Every variable of the head."""
        return self.weights

    @property
    def folder_parts(self) -> list[tuple[keras.layers.Layer, str]]:
        """What an encoder folder holds of this head, and the first part of the names there."""
        return [(self, "replaced_token_head/")]
