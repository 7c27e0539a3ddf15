"""Which tokens are hidden from the generator in this step, and what stands in their place.

The budget of a row with n maskable tokens is k = max(1, round(mask_rate · n)). Its units (whole
words, or single tokens) are laid end to end in random order on a circle of n places; a window of k
places starts at a random place, and the units whose *first* token lies in it are hidden. Every
unit's chance is then exactly k / n, however long it is, and the expected number of hidden tokens is
exactly k. (Filling up to k and drawing the last unit would starve long words.)

A row hides between max(0, k - cap + 1) and k + cap - 1 tokens, cap being the longest unit, so the
number of slots M is known before the first batch. Everything has a fixed shape.

Deviations from google-research/electra at 8a46635, `pretrain/pretrain_helpers.py`: positions are
drawn without replacement, so none is hit twice; [CLS] and [SEP] do not count in the budget.
"""

from __future__ import annotations

import tensorflow as tf

from electra_tf.batches import MaskedBatch, TokenBatch
from electra_tf.config import MaskingConfig
from electra_tf.pretrain.noise import uniform_rows


def num_masked_slots(config: MaskingConfig, max_length: int) -> int:
    """M: the most tokens that one row can hide.

    Args:
      config: how the run masks.
      max_length: L. At least two of the tokens are [CLS] and [SEP].
    """
    longest = max(1, _budget(config.mask_rate, max_length - 2))
    return min(longest + _cap(config) - 1, max_length - 2)


def mask(
    batch: TokenBatch,
    config: MaskingConfig,
    mask_id: int,
    seed: tf.Tensor,
    first_row: tf.Tensor | int,
) -> MaskedBatch:
    """Hides tokens of every row.

    The draw of a row depends on the seed and the row's place in the *global* batch alone: however
    many replicas share a batch, the same tokens are hidden.

    Args:
      batch: B rows of a global batch.
      config: mode, rates and cap.
      mask_id: the id of [MASK].
      seed: int32 [2], of this step.
      first_row: int32 scalar, the place of the first row in the global batch.

    Returns:
      The rows with M = `num_masked_slots` slots each.
    """
    num_rows, length = batch.input_ids.shape
    draw_seed, keep_seed = tf.unstack(tf.random.split(seed, 2, alg="philox"))
    units = _units(batch.unit_ids, config)
    draws = uniform_rows(draw_seed, first_row, num_rows, length + 1)
    is_masked = _choose(units, draws, config.mask_rate, _cap(config))

    keeps = uniform_rows(keep_seed, first_row, num_rows, length)
    shows_mask = is_masked & (keeps < config.mask_token_rate)
    slots = _slots(is_masked, num_masked_slots(config, length))
    return MaskedBatch(
        input_ids=tf.where(shows_mask, mask_id, batch.input_ids),
        segment_ids=batch.segment_ids,
        positions=slots,
        labels=tf.gather(batch.input_ids, slots, batch_dims=1),
        weights=tf.gather(tf.cast(is_masked, tf.float32), slots, batch_dims=1),
        original_ids=batch.input_ids,
        sequence_ids=batch.sequence_ids,
    )


def _budget(mask_rate: float, num_tokens: int) -> int:
    """k of a row with n maskable tokens.

    Rounded in Python alone: in 32 bits 0.15 · 190 = 28.5 falls to the other side, and a row would
    hide one token more than there are slots.
    """
    return max(1, round(mask_rate * num_tokens)) if mask_rate > 0 else 0


def _cap(config: MaskingConfig) -> int:
    """The longest unit of this mode, in tokens."""
    return 1 if config.mode == "token" else config.max_unit_tokens


def _units(unit_ids: tf.Tensor, config: MaskingConfig) -> tf.Tensor:
    """int32 [B, L]: what is hidden together in this mode; 0 = never hidden."""
    if config.mode == "token":
        numbers = tf.range(1, unit_ids.shape[1] + 1)
        return tf.where(unit_ids > 0, numbers, 0)
    return unit_ids


def _choose(units: tf.Tensor, draws: tf.Tensor, mask_rate: float, cap: int) -> tf.Tensor:
    """bool [B, L]: the tokens to hide.

    Args:
      units: int32 [B, L], ascending, tokens of a unit side by side.
      draws: float32 [B, L + 1] in [0, 1): one for each unit number, and one (column 0, no unit has
        number 0) for the window.
    """
    maskable = units > 0
    n = tf.reduce_sum(tf.cast(maskable, tf.int32), axis=1, keepdims=True)
    k = tf.gather([_budget(mask_rate, count) for count in range(units.shape[1] + 1)], n)

    # A stable sort by the unit's draw lays the units end to end; special tokens go last.
    order = tf.argsort(
        tf.where(maskable, tf.gather(draws, units, batch_dims=1), 2.0), axis=1, stable=True
    )
    place = tf.argsort(order, axis=1)
    first_token_place = place - _index_in_unit(units, cap)
    window = tf.cast(draws[:, :1] * tf.cast(n, tf.float32), tf.int32)
    # floormod by at least 1: a row of padding has n = 0 and nothing to hide.
    return maskable & (tf.math.floormod(first_token_place - window, tf.maximum(n, 1)) < k)


def _index_in_unit(units: tf.Tensor, cap: int) -> tf.Tensor:
    """int32 [B, L]: 0 for the first token of a unit, 1 for the second …"""
    index = tf.zeros_like(units)
    for distance in range(1, cap):
        earlier = tf.pad(units, [[0, 0], [distance, 0]])[:, : units.shape[1]]
        index += tf.cast(earlier == units, tf.int32)
    return index


def _slots(is_masked: tf.Tensor, num_slots: int) -> tf.Tensor:
    """int32 [B, M]: hidden positions in ascending order, then others to fill up."""
    length = is_masked.shape[1]
    places = tf.range(length) + length * tf.cast(~is_masked, tf.int32)
    return tf.argsort(places, axis=1)[:, :num_slots]
