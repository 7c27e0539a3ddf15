"""The encoder: shared embeddings, a projection where widths differ, a stack of layers."""

from __future__ import annotations

import keras
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.network.attention import padding_scores, sequence_scores
from electra_tf.network.dense import Dense, Precision
from electra_tf.network.dropout import fold_in
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.transformer import TransformerLayer
from electra_tf.network.weights import glorot_uniform, weights_beside


class Encoder(keras.layers.Layer):
    """Token ids in, one vector a token out.

    All variables exist once the constructor returns.
    Source: Clark et al. 2020, ELECTRA; google-research/electra at 8a46635, `model/modeling.py`.

    Args:
      config: sizes.
      embeddings: the embedding block; hand the same object to two encoders to share it.
      seed: of the initial weights. Two encoders of different names start differently.
      precision: type of the operands of matrix products; everything else is float32.
      name: name of the layer, the first part of its variables' paths.

    Raises:
      ValueError: the block is not as wide as `config.embedding_size` says.
    """

    def __init__(
        self,
        config: EncoderConfig,
        embeddings: Embeddings,
        seed: int,
        precision: Precision = "float32",
        name: str = "encoder",
    ) -> None:
        super().__init__(name=name, dtype="float32")
        if config.embedding_size != embeddings.config.embedding_size:
            raise ValueError(
                f"{name}: embedding_size is {config.embedding_size}, but the embeddings handed "
                f"in are {embeddings.config.embedding_size} wide"
            )
        self.config = config
        self.embeddings = embeddings
        self.embeddings_project = None
        if config.needs_projection:
            self.embeddings_project = Dense(
                config.embedding_size,
                config.hidden_size,
                glorot_uniform(seed),
                precision,
                "embeddings_project",
            )
        self.transformer_layers = [
            TransformerLayer(config, seed, precision, f"layer_{index}")
            for index in range(config.num_hidden_layers)
        ]
        self.build()

    def build(self) -> None:
        if self.embeddings_project is not None:
            self.embeddings_project.build()
        for layer in self.transformer_layers:
            layer.build()

    def call(
        self,
        input_ids: tf.Tensor,
        segment_ids: tf.Tensor,
        dropout_seed: tf.Tensor | None = None,
        *,
        is_real: tf.Tensor | None = None,
        sequence_ids: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Reads a batch. Padding is not looked at; its own vectors mean nothing.

        Args:
          input_ids: int32 [B, L], 0 = padding.
          segment_ids: int32 [B, L].
          dropout_seed: int32 [2], different on every replica and step; None = no dropout.
          is_real: bool [B, L], False = padding; None = wherever the id is not 0. A generator may
            draw id 0 for a real token, which is to be looked at all the same.
          sequence_ids: int32 [B, L], 0 = padding, where rows hold several sequences: each is read
            as if it stood alone, and `is_real` is not asked. None = a row is one sequence.

        Returns:
          float32 [B, L, H], the last layer.
        """
        return self.hidden_states(
            input_ids, segment_ids, dropout_seed, is_real=is_real, sequence_ids=sequence_ids
        )[-1]

    def hidden_states(
        self,
        input_ids: tf.Tensor,
        segment_ids: tf.Tensor,
        dropout_seed: tf.Tensor | None = None,
        *,
        is_real: tf.Tensor | None = None,
        sequence_ids: tf.Tensor | None = None,
    ) -> list[tf.Tensor]:
        """What `call` computes on its way.

        Args: as `call`.

        Returns:
          num_hidden_layers + 1 tensors, float32 [B, L, H]: the (projected) embeddings, then
          the output of each layer.
        """
        if dropout_seed is not None:
            # Both networks meet the shared embeddings; each with a mask of its own.
            dropout_seed = fold_in(dropout_seed, self.path)
        hidden = self.embeddings(
            input_ids, segment_ids, dropout_seed=dropout_seed, sequence_ids=sequence_ids
        )
        if self.embeddings_project is not None:
            hidden = self.embeddings_project(hidden)
        states = [hidden]
        if sequence_ids is None:
            padding = padding_scores(tf.not_equal(input_ids, 0) if is_real is None else is_real)
        else:
            padding = sequence_scores(sequence_ids)
        for layer in self.transformer_layers:
            states.append(layer(states[-1], padding, dropout_seed=dropout_seed))
        return states

    @property
    def own_weights(self) -> list[keras.Variable]:
        """The variables that are not part of the shared embeddings."""
        return weights_beside(self, self.embeddings)

    @property
    def folder_parts(self) -> list[tuple[keras.layers.Layer, str]]:
        """What an encoder folder holds of this encoder, and the first part of the names there."""
        return [(self.embeddings, "embeddings/"), (self, "")]
