"""Positions drawn as google-research/electra does, for the mode `reference`.

Source: google-research/electra at 8a46635, `pretrain/pretrain_helpers.py` (mask) and
`configure_pretraining.py`. [CLS] and [SEP] count in the budget but are never hidden; positions are
drawn *with* replacement, so a row of 128 tokens at a rate of 0.15 fills 19 slots with 17.7
different positions: 13.8 % of its tokens, not 15 %.

Upstream leaves a [MASK] in the text alone, too; records hold none (`records verify`).

Deviations: a rate of 0 hides nothing (upstream one token), a row without maskable tokens fills no
slot, there is always one slot, and the label of an unused slot is the token at position 0
(upstream: id 0). Neither of the last two enters a loss.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def num_reference_slots(mask_rate: float, max_length: int) -> int:
    """M of this mode."""
    return max(1, int((mask_rate + 0.005) * max_length))


def draw_positions(
    maskable: tf.Tensor, num_real: tf.Tensor, mask_rate: float, draws: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Fills slots with random maskable positions, each slot by itself.

    Args:
      maskable: bool [B, L].
      num_real: int32 [B], tokens with [CLS] and [SEP], padding left out.
      mask_rate: share of them that the budget is.
      draws: float32 [B, M] in [0, 1).

    Returns:
      int32 [B, M], positions that may repeat, 0 in unused slots; and bool [B, M], which are in use.
    """
    num_slots, length = draws.shape[1], maskable.shape[1]
    candidates = tf.argsort(tf.cast(~maskable, tf.int32), axis=1, stable=True)
    num_candidates = tf.reduce_sum(tf.cast(maskable, tf.int32), axis=1, keepdims=True)
    # Below the number of candidates in 32 bits, too: the draws are multiples of 2^-24.
    chosen = tf.cast(draws * tf.cast(num_candidates, tf.float32), tf.int32)
    budgets = tf.gather(_budgets(mask_rate, num_slots, length), num_real[:, tf.newaxis])
    is_used = (tf.range(num_slots) < budgets) & (num_candidates > 0)
    return tf.where(is_used, tf.gather(candidates, chosen, batch_dims=1), 0), is_used


def _budgets(mask_rate: float, num_slots: int, length: int) -> np.ndarray:
    """int32 [L + 1]: k of a row with 0, 1, 2 … real tokens.

    The product is rounded in 32 bits, half to even, as upstream's is: 190 tokens at 0.15 give 29.
    """
    if mask_rate == 0:
        return np.zeros(length + 1, np.int32)
    products = np.float32(mask_rate) * np.arange(length + 1, dtype=np.float32)
    return np.clip(np.rint(products), 1, num_slots).astype(np.int32)
