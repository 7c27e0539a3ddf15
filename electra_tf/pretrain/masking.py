"""Which tokens are hidden from the generator in this step, and what stands in their place.

What is hidden together is a *unit*: a token, a word, or a run of words (`word_runs.py`). The budget
of a row with n maskable tokens is k = max(1, round(mask_rate · n)). Its units are laid end to end
in random order on a circle of n places; a window of k places starts at a random place, and the
units whose *first* token lies in it are hidden. Every unit's chance is then exactly k / n, however
long it is, and the expected number of hidden tokens is exactly k. (Filling up to k and drawing the
last unit would starve long words.) A row hides between max(0, k - cap + 1) and k + cap - 1 tokens,
cap being the longest unit, so the number of slots M is known before the first batch.

The mode `reference` alone draws as google-research/electra at 8a46635 does (`reference_draw.py`).
The other modes deviate from it: no position is hit twice; [CLS] and [SEP] do not count in n; a
short row of long units may hide none (upstream hides one at least). In every mode masks follow from
a seed (upstream's cannot be drawn again), and a rate of 0 hides nothing.

What the generator sees there is drawn slot by slot, so the tokens of one word may fare differently
(as upstream, and as HFL's whole-word masking does): [MASK], a random token, or the token itself.
Upstream knows no random tokens. The discriminator never sees any of this: it reads the original
text with the generator's tokens in the slots.
"""

from __future__ import annotations

from functools import partial

import tensorflow as tf

from electra_tf.batches import PAD_ID, MaskedBatch, TokenBatch, is_real
from electra_tf.config import MaskingConfig
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.pretrain.noise import uniform_rows
from electra_tf.pretrain.reference_draw import draw_positions, num_reference_slots
from electra_tf.pretrain.word_runs import RUN_LAWS, longest_run, word_runs


def num_masked_slots(config: MaskingConfig, max_length: int) -> int:
    """M: the most tokens that one row can hide.

    Args:
      config: how the run masks.
      max_length: L. At least two of the tokens are [CLS] and [SEP].
    """
    if config.mode == "reference":
        return num_reference_slots(config.mask_rate, max_length)
    longest = max(1, _budget(config.mask_rate, max_length - 2))
    return min(longest + _cap(config) - 1, max_length - 2)


def mask(
    batch: TokenBatch,
    config: MaskingConfig,
    vocabulary: VocabularyFacts,
    seed: tf.Tensor,
    first_row: tf.Tensor | int,
) -> MaskedBatch:
    """Hides tokens of every row.

    The draw of a row depends on the seed and the row's place in the *global* batch alone: however
    many replicas share a batch, the same tokens are hidden.

    Args:
      batch: B rows of a global batch.
      config: mode, rates and cap.
      vocabulary: whose ids stand in the batch.
      seed: int32 [2], of this step.
      first_row: int32 scalar, the place of the first row in the global batch.

    Returns:
      The rows with M = `num_masked_slots` slots each.
    """
    num_rows, length = batch.input_ids.shape
    num_slots = num_masked_slots(config, length)
    choice_seed, run_seed, treatment_seed, token_seed = tf.unstack(
        tf.random.split(seed, 4, alg="philox")
    )
    draw = partial(uniform_rows, first_row=first_row, num_rows=num_rows)
    maskable = batch.unit_ids > 0
    if config.mode == "reference":
        num_real = tf.reduce_sum(tf.cast(is_real(batch.input_ids), tf.int32), axis=1)
        positions, is_used = draw_positions(
            maskable, num_real, config.mask_rate, draw(choice_seed, width=num_slots)
        )
    else:
        units = _units(batch.unit_ids, config, draw(run_seed, width=length))
        draws = draw(choice_seed, width=length + 1)
        is_hidden = _choose(units, draws, config.mask_rate, _cap(config))
        positions = _slots(is_hidden, num_slots)
        is_used = tf.gather(is_hidden, positions, batch_dims=1)

    random_ids = _ordinary_ids(draw(token_seed, width=num_slots), vocabulary)
    treatments = draw(treatment_seed, width=num_slots)
    return MaskedBatch(
        input_ids=_treat(
            batch.input_ids,
            positions,
            is_mask=is_used & (treatments < config.mask_token_rate),
            is_random=is_used & (treatments < config.mask_token_rate + config.random_token_rate),
            random_ids=random_ids,
            mask_id=vocabulary.mask_id,
        ),
        segment_ids=batch.segment_ids,
        positions=positions,
        labels=tf.gather(batch.input_ids, positions, batch_dims=1),
        weights=tf.cast(is_used, tf.float32),
        original_ids=batch.input_ids,
        sequence_ids=batch.sequence_ids,
    )


def slot_indices(positions: tf.Tensor) -> tf.Tensor:
    """Where slots stand, as TensorFlow's scatter operations want it told.

    Args:
      positions: int32 [B, M].

    Returns:
      int32 [B, M, 2]: row and position.
    """
    rows = tf.range(positions.shape[0])[:, tf.newaxis]
    return tf.stack([tf.broadcast_to(rows, positions.shape), positions], axis=-1)


# --- which tokens ------------------------------------------------------------------------------


def _budget(mask_rate: float, num_tokens: int) -> int:
    """k of a row with n maskable tokens.

    Rounded in Python alone: in 32 bits 0.15 · 190 = 28.5 falls to the other side, and a row would
    hide one token more than there are slots.
    """
    return max(1, round(mask_rate * num_tokens)) if mask_rate > 0 else 0


def _cap(config: MaskingConfig) -> int:
    """The longest unit of this mode, in tokens."""
    if config.mode == "token":
        return 1
    if config.mode in RUN_LAWS:
        return longest_run(RUN_LAWS[config.mode], config.max_unit_tokens)
    return config.max_unit_tokens


def _units(unit_ids: tf.Tensor, config: MaskingConfig, draws: tf.Tensor) -> tf.Tensor:
    """int32 [B, L]: what is hidden together in this mode, ascending; 0 = never hidden."""
    if config.mode == "token":
        return tf.where(unit_ids > 0, tf.range(1, unit_ids.shape[1] + 1), 0)
    if config.mode in RUN_LAWS:
        return word_runs(unit_ids, draws, RUN_LAWS[config.mode], _cap(config))
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


def _slots(is_hidden: tf.Tensor, num_slots: int) -> tf.Tensor:
    """int32 [B, M]: hidden positions in ascending order, then others to fill up."""
    length = is_hidden.shape[1]
    places = tf.range(length) + length * tf.cast(~is_hidden, tf.int32)
    return tf.argsort(places, axis=1)[:, :num_slots]


# --- what stands there -------------------------------------------------------------------------


def _treat(
    input_ids: tf.Tensor,
    positions: tf.Tensor,
    is_mask: tf.Tensor,
    is_random: tf.Tensor,
    random_ids: tf.Tensor,
    mask_id: int,
) -> tf.Tensor:
    """int32 [B, L]: the text with [MASK] and random tokens in slots; `is_mask` comes first.

    Slots of the mode `reference` may share a position. As upstream, [MASK] stands there if any of
    them says so; of several random tokens, the one with the largest id.
    """
    above_all = tf.int32.max
    said = tf.where(is_mask, above_all, tf.where(is_random, random_ids, -1))
    found = tf.tensor_scatter_nd_max(-tf.ones_like(input_ids), slot_indices(positions), said)
    return tf.where(found == above_all, mask_id, tf.where(found >= 0, found, input_ids))


def _ordinary_ids(draws: tf.Tensor, vocabulary: VocabularyFacts) -> tf.Tensor:
    """int32, of the shape of the draws: ids of the whole vocabulary but its five special tokens."""
    specials = sorted(
        {PAD_ID, vocabulary.unk_id, vocabulary.cls_id, vocabulary.sep_id, vocabulary.mask_id}
    )
    ids = tf.cast(draws * (vocabulary.size - len(specials)), tf.int32)
    for special in specials:  # ascending: each leaves a gap that the ids step over
        ids += tf.cast(ids >= special, tf.int32)
    return ids
