"""What the generator puts into the masked slots, and the text that the discriminator then reads."""

from __future__ import annotations

import tensorflow as tf

from electra_tf.batches import CorruptedBatch, MaskedBatch
from electra_tf.pretrain.masking import slot_indices


def draw_tokens(logits: tf.Tensor, uniform: tf.Tensor, temperature: float = 1.0) -> tf.Tensor:
    """Draws one token a slot from softmax(logits / temperature), by the Gumbel-max trick.

    Source: google-research/electra at 8a46635, `pretrain/pretrain_helpers.py`
    (sample_from_softmax). The two 1e-9 vanish in 16 bits, so this stays in float32. There the
    noisy logits go through a softmax before the arg max, which does not change their order. Its
    option disallow_correct (never the original token) is left out.

    Args:
      logits: float32 [B, M, V].
      uniform: float32 [B, M, V] in [0, 1), the noise.
      temperature: below 1 the likely tokens gain, above 1 the unlikely ones.

    Returns:
      int32 [B, M], without gradient.
    """
    gumbel = -tf.math.log(-tf.math.log(uniform + 1e-9) + 1e-9)
    noisy = tf.stop_gradient(logits) / temperature + gumbel
    return tf.argmax(noisy, axis=-1, output_type=tf.int32)


def unigram_tokens(id_counts: tf.Tensor, uniform: tf.Tensor) -> tf.Tensor:
    """Draws tokens as often as they are masked at all, blind to the context.

    Args:
      id_counts: float32 [V], how often each id is masked; in the *global* batch, so that the same
        is drawn on any number of replicas.
      uniform: float32 [B, M] in [0, 1), the noise.

    Returns:
      int32 [B, M].
    """
    ends = tf.cumsum(id_counts)
    # The product may round up to the end itself.
    places = tf.minimum(uniform * ends[-1], ends[-1] - 1.0)
    drawn = tf.searchsorted(ends, tf.reshape(places, [-1]), side="right")
    return tf.reshape(drawn, uniform.shape)


def corrupt(masked: MaskedBatch, drawn_ids: tf.Tensor) -> CorruptedBatch:
    """Puts the drawn tokens into the original text.

    Slots that show their own token to the generator are drawn anew too. A drawn token that equals
    the original counts as real.

    Slots of the masking mode `reference` may share a position. There stands the mean of their ids,
    rounded down: an unrelated token, as upstream (scatter_update). In no other mode do they.

    Args:
      masked: where the slots are.
      drawn_ids: int32 [B, M].

    Returns:
      The text for the discriminator, `is_replaced` only where the id has changed.
    """
    is_used = tf.cast(masked.weights > 0, tf.int32)
    sums_and_counts = tf.scatter_nd(
        slot_indices(masked.positions),
        tf.stack([drawn_ids * is_used, is_used], axis=-1),
        [*masked.original_ids.shape, 2],
    )
    sums, counts = tf.unstack(sums_and_counts, axis=-1)
    input_ids = tf.where(counts > 0, sums // tf.maximum(counts, 1), masked.original_ids)
    return CorruptedBatch(
        input_ids=input_ids,
        segment_ids=masked.segment_ids,
        is_replaced=tf.cast(input_ids != masked.original_ids, tf.float32),
        sequence_ids=masked.sequence_ids,
    )
