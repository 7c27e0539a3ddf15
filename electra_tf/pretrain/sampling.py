"""What the generator puts into the masked slots, and the text that the discriminator then reads."""

from __future__ import annotations

import tensorflow as tf

from electra_tf.batches import CorruptedBatch, MaskedBatch


def draw_tokens(logits: tf.Tensor, uniform: tf.Tensor, temperature: float = 1.0) -> tf.Tensor:
    """Draws one token a slot from softmax(logits / temperature), by the Gumbel-max trick.

    Source: google-research/electra at 8a46635, `pretrain/pretrain_helpers.py`
    (sample_from_softmax). The two 1e-9 vanish in 16 bits, so this stays in float32.

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


def corrupt(masked: MaskedBatch, drawn_ids: tf.Tensor) -> CorruptedBatch:
    """Puts the drawn tokens into the original text.

    Slots that show their own token to the generator are drawn anew too. A drawn token that equals
    the original counts as real.

    Args:
      masked: where the slots are.
      drawn_ids: int32 [B, M].

    Returns:
      The text for the discriminator, `is_replaced` only where the id has changed.
    """
    values = tf.where(masked.weights > 0, drawn_ids, masked.labels)
    num_rows, num_slots = masked.positions.shape
    rows = tf.broadcast_to(tf.range(num_rows)[:, None], [num_rows, num_slots])
    places = tf.stack([rows, masked.positions], axis=-1)
    input_ids = tf.tensor_scatter_nd_update(masked.original_ids, places, values)
    return CorruptedBatch(
        input_ids=input_ids,
        segment_ids=masked.segment_ids,
        is_replaced=tf.cast(input_ids != masked.original_ids, tf.float32),
        sequence_ids=masked.sequence_ids,
    )
