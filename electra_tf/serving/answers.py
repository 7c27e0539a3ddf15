"""What a served network answers: one class a kind of model, outputs by name."""

from __future__ import annotations

from typing import Protocol

import keras
import tensorflow as tf

from electra_tf.batches import PAD_ID
from electra_tf.network.encoder import Encoder
from electra_tf.network.heads import ReplacedTokenHead

Outputs = dict[str, tf.Tensor]


class ModelInputs(Protocol):
    """Texts as a network reads them: what `chinese.model_inputs.ModelInputs` has.

    Fields:
      input_ids, segment_ids: int32 [B, L].
      parts: int32 [B, L], the text a token stands in; -1 = [CLS], [SEP], padding.
      starts, ends: int32 [B, L], its characters there.
      is_truncated: bool [B].
    """

    input_ids: tf.Tensor
    segment_ids: tf.Tensor
    parts: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    is_truncated: tf.Tensor


class Answers(Protocol):
    """A network with its head.

    Fields:
      encoder: the network below the head.
      takes_pairs: whether a second text is read.
    """

    encoder: Encoder
    takes_pairs: bool

    def of_inputs(self, hidden: tf.Tensor, inputs: ModelInputs) -> Outputs:
        """Answers texts from float32 [B, L, H], the last layer; every output has B rows."""

    def of_ids(self, hidden: tf.Tensor, is_real: tf.Tensor) -> Outputs:
        """Answers token ids, where bool [B, L] says what is no padding."""

    @property
    def layers(self) -> list[keras.layers.Layer]:
        """All that compute."""


class Detection:
    """Which characters look replaced, by the discriminator of pre-training."""

    takes_pairs = False

    def __init__(self, encoder: Encoder, head: ReplacedTokenHead) -> None:
        self.encoder = encoder
        self.head = head

    def of_inputs(self, hidden: tf.Tensor, inputs: ModelInputs) -> Outputs:
        """Tells every character that was read.

        Returns:
          offsets: int32 [B, N], the places in the text of all characters that were judged, in
            ascending order; -1 = padding. Blanks and characters that tokenization deletes are not
            judged.
          probabilities: float32 [B, N], how likely each was replaced; 0 at padding.
        """
        sizes = tf.where(inputs.parts >= 0, inputs.ends - inputs.starts, 0)
        by_character = _spread(tf.sigmoid(self.head(hidden)), inputs.starts, sizes)
        is_judged = by_character >= 0
        return {
            "offsets": tf.ragged.boolean_mask(_columns(by_character), is_judged).to_tensor(-1),
            "probabilities": tf.ragged.boolean_mask(by_character, is_judged).to_tensor(0.0),
        }

    def of_ids(self, hidden: tf.Tensor, is_real: tf.Tensor) -> Outputs:
        """probabilities: float32 [B, L], how likely each token was replaced; 0 at padding."""
        return {"probabilities": tf.where(is_real, tf.sigmoid(self.head(hidden)), 0.0)}

    @property
    def layers(self) -> list[keras.layers.Layer]:
        """All that compute."""
        return [self.encoder, self.head]


def embed(hidden: tf.Tensor, inputs: ModelInputs) -> Outputs:
    """Texts as vectors.

    Args:
      hidden: float32 [B, L, H], the last layer.
      inputs: what was read.

    Returns:
      mean: float32 [B, H], over [CLS], all tokens and [SEP].
      cls: float32 [B, H], at [CLS].
    """
    is_real = tf.cast(inputs.input_ids != PAD_ID, tf.float32)[:, :, tf.newaxis]
    mean = tf.reduce_sum(hidden * is_real, axis=1) / tf.reduce_sum(is_real, axis=1)
    return {"mean": mean, "cls": hidden[:, 0]}


def _spread(values: tf.Tensor, starts: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
    """Gives every character the value of its token, the highest where several share it.

    Args:
      values: float32 [B, L], not negative.
      starts: int32 [B, L], the first character of every token.
      sizes: int32 [B, L], its characters; 0 = none of the text.

    Returns:
      float32 [B, C], C = the last character of the longest row; -1 where no token is.
    """
    flat_sizes = tf.reshape(sizes, [-1])
    token = tf.repeat(tf.range(tf.size(flat_sizes)), flat_sizes)
    within = tf.range(tf.size(token)) - tf.gather(tf.cumsum(flat_sizes) - flat_sizes, token)
    column = tf.gather(tf.reshape(starts, [-1]), token) + within
    row = token // tf.maximum(tf.shape(sizes)[1], 1)
    width = tf.maximum(tf.reduce_max(starts + sizes), 0)  # of no rows the largest is no number
    empty = tf.fill(tf.stack([tf.shape(sizes)[0], width]), -1.0)
    spread = tf.gather(tf.reshape(values, [-1]), token)
    return tf.tensor_scatter_nd_max(empty, tf.stack([row, column], axis=1), spread)


def _columns(values: tf.Tensor) -> tf.Tensor:
    """int32 [B, C], the place in its row of every entry."""
    return tf.zeros_like(values, tf.int32) + tf.range(tf.shape(values)[1])
