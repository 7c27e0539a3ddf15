"""The embedding block: what generator and discriminator share."""

from __future__ import annotations

import keras
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.network.dense import LayerNorm
from electra_tf.network.dropout import dropout
from electra_tf.network.weights import truncated_normal


def positions_in_sequences(sequence_ids: tf.Tensor) -> tf.Tensor:
    """Counts from 0 in each sequence of a row.

    Args:
      sequence_ids: int32 [B, L], equal ids side by side.

    Returns:
      int32 [B, L]: `1 1 1 2 2 0` gives `0 1 2 0 1 0`.
    """
    is_own = sequence_ids[:, :, tf.newaxis] == sequence_ids[:, tf.newaxis, :]
    first = tf.argmax(tf.cast(is_own, tf.int32), axis=-1, output_type=tf.int32)
    return tf.range(tf.shape(sequence_ids)[1]) - first


class Embeddings(keras.layers.Layer):
    """Word + position + segment, LayerNorm, dropout.

    Hand one object to two encoders and to the masked-LM head, and they share its weights,
    LayerNorm included.
    Source: google-research/electra at 8a46635, `model/modeling.py` (embedding_lookup,
    embedding_postprocessor).

    Args:
      config: sizes; `vocab_size` must be known.
      seed: of the initial weights.
      name: name of the layer.

    Raises:
      ValueError: `vocab_size` is null.
    """

    def __init__(self, config: EncoderConfig, seed: int, name: str = "embeddings") -> None:
        super().__init__(name=name, dtype="float32")
        if config.vocab_size is None:
            raise ValueError("vocab_size is null; fill it from the vocabulary before building")
        self.config = config
        self.initializer = truncated_normal(config.initializer_stddev, seed)
        self.layer_norm = LayerNorm(config.embedding_size, config.layer_norm_epsilon)
        self.build()

    def build(self) -> None:
        config = self.config
        self.word_embeddings = self._table("word_embeddings", config.vocab_size)
        self.position_embeddings = self._table(
            "position_embeddings", config.max_position_embeddings
        )
        self.token_type_embeddings = self._table("token_type_embeddings", config.type_vocab_size)
        self.layer_norm.build()

    def call(
        self,
        input_ids: tf.Tensor,
        segment_ids: tf.Tensor,
        dropout_seed: tf.Tensor | None = None,
        *,
        sequence_ids: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Looks tokens up.

        Args:
          input_ids: int32 [B, L].
          segment_ids: int32 [B, L].
          dropout_seed: int32 [2]; None = no dropout.
          sequence_ids: int32 [B, L], 0 = padding: positions begin anew in each sequence; None = a
            row is one sequence.

        Returns:
          float32 [B, L, E].
        """
        config = self.config
        length = input_ids.shape[1]
        if length is not None and length > config.max_position_embeddings:
            raise ValueError(
                f"an input of {length} tokens is longer than max_position_embeddings "
                f"{config.max_position_embeddings}; cut it or enlarge the table"
            )
        words = tf.gather(tf.convert_to_tensor(self.word_embeddings), input_ids)
        positions = tf.convert_to_tensor(self.position_embeddings)[: tf.shape(input_ids)[1]]
        if sequence_ids is not None:
            positions = tf.gather(positions, positions_in_sequences(sequence_ids))
        # A product, because the gradient of a look-up in two rows is a scatter of B·L rows.
        segments = tf.matmul(
            tf.one_hot(segment_ids, config.type_vocab_size),
            tf.convert_to_tensor(self.token_type_embeddings),
        )
        normalized = self.layer_norm(words + segments + positions)
        return dropout(normalized, config.hidden_dropout_rate, dropout_seed, self.path)

    @property
    def own_weights(self) -> list[keras.Variable]:
        """Every variable of the block, each once."""
        return self.weights

    def _table(self, name: str, rows: int) -> keras.Variable:
        return self.add_weight(
            shape=(rows, self.config.embedding_size),
            initializer=self.initializer(f"{self.path}/{name}"),
            name=name,
        )
