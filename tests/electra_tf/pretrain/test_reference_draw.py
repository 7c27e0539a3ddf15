"""The mode `reference` draws positions as google-research/electra at 8a46635 does.

The published numbers stand here; those recorded from its own code are compared where
ELECTRA_TF_REFERENCE names their folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import MaskedBatch, TokenBatch
from electra_tf.pretrain.masking import mask
from electra_tf.pretrain.reference_draw import draw_positions, num_reference_slots
from electra_tf.pretrain.sampling import corrupt

ROOT = os.environ.get("ELECTRA_TF_REFERENCE")
needs_reference = pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE")
MASK_ID = 4


def recorded(name: str):
    path = Path(ROOT or ".") / name
    return json.loads(path.read_text()) if path.suffix == ".json" else np.load(path)


def text_row(real: int, length: int, candidates: int | None = None) -> TokenBatch:
    """[CLS], characters, [SEP], then padding; where fewer are candidates, [SEP] stands between."""
    ids = np.zeros((1, length), np.int32)
    ids[0, :real] = 5 + np.arange(real) % 30
    ids[0, 0], ids[0, real - 1] = 2, 3
    if candidates is not None:
        ids[0, real // 2 : real // 2 + real - 2 - candidates] = 3
    units = np.where(ids > 4, np.cumsum(ids > 4, axis=1), 0)
    return TokenBatch(tf.constant(ids), tf.zeros_like(ids), tf.constant(units, tf.int32))


def hide_often(make_masking, vocabulary, row, times, **changes) -> MaskedBatch:
    batch = TokenBatch(*[tf.repeat(column, times, axis=0) for column in row[:3]])
    return mask(
        batch, make_masking(mode="reference", **changes), vocabulary, tf.constant([4, 7]), 0
    )


def statistics(masked: MaskedBatch) -> dict[str, np.ndarray]:
    """Of every row: slots in use, different positions, [MASK] shown, hits of every position."""
    shape = masked.input_ids.shape
    used = masked.weights.numpy() > 0
    hits = np.zeros(shape, int)
    np.add.at(hits, (np.nonzero(used)[0], masked.positions.numpy()[used]), 1)
    return {
        "used": used.sum(axis=1),
        "distinct": (hits > 0).sum(axis=1),
        "shown": (masked.input_ids.numpy() == MASK_ID).sum(axis=1),
        "hits": hits,
        "is_mask": masked.input_ids.numpy() == MASK_ID,
    }


def expected_distinct(candidates: int, draws: int) -> float:
    return candidates * (1 - (1 - 1 / candidates) ** draws)


# --- the published numbers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "rate", "slots"),
    [
        (8, 0.15, 1),
        (64, 0.15, 9),
        (128, 0.15, 19),
        (128, 0.25, 32),
        (512, 0.15, 79),
        (512, 0.25, 130),
    ],
)
def test_slots_are_as_many_as_upstream_has(length, rate, slots):
    assert num_reference_slots(rate, length) == slots


@pytest.mark.parametrize(
    ("length", "rate", "used", "distinct", "percent", "hit_again"),
    [
        (128, 0.15, 19, 17.7, 13.8, 1.25),
        (512, 0.15, 77, 71.5, 14.0, 5.2),
        (512, 0.25, 128, 113.3, 22.1, 13.6),
    ],
)
def test_a_full_row_hides_fewer_tokens_than_it_has_slots(
    make_masking, vocabulary, length, rate, used, distinct, percent, hit_again
):
    """19 slots of 128 tokens: 17.7 positions, 13.8 %, 1.25 of them hit twice or more."""
    row = text_row(length, length)
    found = statistics(hide_often(make_masking, vocabulary, row, 3000, mask_rate=rate))
    assert set(found["used"]) == {used}
    slack = 4.5 / np.sqrt(3000)
    mean, again = found["distinct"].mean(), (found["hits"] > 1).sum(axis=1)
    assert mean == pytest.approx(distinct, abs=slack * found["distinct"].std() + 0.05)
    assert 100 * mean / length == pytest.approx(percent, abs=0.15)
    assert again.mean() == pytest.approx(hit_again, abs=slack * again.std() + 0.05)


def test_budgets_count_cls_and_sep_and_are_rounded_in_32_bits(make_masking, vocabulary):
    """0.15 · 190 = 28.5, but a little more in 32 bits: 29; in 64 bits half to even would be 28."""
    for real, k in ((3, 1), (10, 2), (60, 9), (190, 29), (350, 53), (390, 59), (512, 77)):
        masked = hide_often(make_masking, vocabulary, text_row(real, 512), 2)
        assert masked.weights.numpy().sum(axis=1).tolist() == [k, k]
    # At length 64 there are 9 slots; round(0.15 · 64) = 10 would be one more.
    masked = hide_often(make_masking, vocabulary, text_row(64, 64), 1)
    assert masked.weights.shape == (1, 9)
    assert masked.weights.numpy().all()


# --- by hand -----------------------------------------------------------------------------------


def test_draws_fall_on_candidates_in_equal_shares_and_may_repeat():
    maskable = tf.constant([[False, True, True, False, True, True, False, False]])
    draws = tf.constant([[0.0, 0.2499, 0.25, 0.5, 0.75, 1 - 2.0**-24, 0.1]])
    positions, is_used = draw_positions(maskable, tf.constant([7]), 0.85, draws)
    # Candidates 1, 2, 4, 5; k = round(5.95) = 6; the seventh slot is not in use.
    assert positions.numpy().tolist() == [[1, 1, 2, 4, 5, 5, 0]]
    assert is_used.numpy().tolist() == [[True] * 6 + [False]]


@pytest.mark.parametrize("candidates", [1, 3, 61, 126, 509, 510])
def test_the_largest_draw_stays_below_the_number_of_candidates(candidates):
    maskable = tf.range(512)[tf.newaxis] < candidates
    last, _ = draw_positions(maskable, tf.constant([512]), 0.15, tf.constant([[1 - 2.0**-24]]))
    assert last.numpy().tolist() == [[candidates - 1]]


def test_a_row_of_padding_and_a_rate_of_0_fill_no_slot(make_masking, vocabulary):
    empty = TokenBatch(*[tf.zeros([2, 16], tf.int32)] * 3)
    for masked in (
        hide_often(make_masking, vocabulary, empty, 3),
        hide_often(make_masking, vocabulary, text_row(16, 16), 3, mask_rate=0.0),
    ):
        assert not masked.weights.numpy().any()
        assert not masked.positions.numpy().any()
        np.testing.assert_array_equal(masked.input_ids, masked.original_ids)


def test_a_position_hit_twice_shows_mask_if_either_slot_says_so(make_masking, vocabulary):
    found = statistics(hide_often(make_masking, vocabulary, text_row(64, 64), 4000))
    for hits, share in ((1, 0.85), (2, 1 - 0.15**2)):
        shown = found["is_mask"][found["hits"] == hits]
        sigma = np.sqrt(share * (1 - share) / len(shown))
        assert shown.mean() == pytest.approx(share, abs=4.5 * sigma), hits


def test_what_stands_at_a_position_hit_twice_is_the_mean_of_the_drawn_ids():
    ids = tf.constant([[2, 30, 31, 32, 3, 0]])
    masked = MaskedBatch(
        ids,
        tf.zeros_like(ids),
        positions=tf.constant([[2, 1, 2, 0]]),
        labels=tf.constant([[31, 30, 31, 2]]),
        weights=tf.constant([[1.0, 1.0, 1.0, 0.0]]),
        original_ids=ids,
    )
    found = corrupt(masked, tf.constant([[98, 7, 95, 11]]))
    np.testing.assert_array_equal(found.input_ids, [[2, 7, 96, 32, 3, 0]])  # floor(193 / 2)
    np.testing.assert_array_equal(found.is_replaced, [[0, 1, 1, 0, 0, 0]])
    # Two other ids whose mean is the original: nothing was replaced.
    found = corrupt(masked, tf.constant([[30, 30, 32, 11]]))
    np.testing.assert_array_equal(found.input_ids, ids)


# --- against the reference's own runs ----------------------------------------------------------


@pytest.mark.parametrize("index", range(6))
@pytest.mark.reference
@needs_reference
def test_the_number_of_slots_in_use_is_that_of_the_reference_at_every_length(
    make_masking, vocabulary, index
):
    case = recorded("c_masking/masking.json")["slots_with_weight_1_by_real_length"][index]
    length = case["max_seq_length"]
    assert num_reference_slots(case["mask_prob"], length) == case["slots"]
    rows = [text_row(real, length) for real in case["real_lengths"]]
    batch = TokenBatch(
        *[tf.concat(columns, 0) for columns in zip(*[row[:3] for row in rows], strict=True)]
    )
    config = make_masking(mode="reference", mask_rate=case["mask_prob"])
    masked = mask(batch, config, vocabulary, tf.constant([1, 2]), 0)
    assert masked.weights.numpy().sum(axis=1).tolist() == case["slots_with_weight_1"]


def rows_of(sample: int) -> list:
    if ROOT is None:
        return []
    cases = recorded("c_masking/masking.json")["samples"][sample]["cases"]
    return [(case, row) for case in cases for row in case["rows"]]


@pytest.mark.reference
@needs_reference
@pytest.mark.parametrize("sample", [0, 1])
def test_statistics_are_those_of_the_reference(make_masking, vocabulary, sample):
    """2,000 rows of ours beside 2,000 calls of upstream's masking, under TensorFlow 1.15 and 2.20.

    One of its rows has a [MASK] in the text, which upstream leaves alone; our records hold none.
    """
    for case, row in rows_of(sample):
        length, real = case["max_seq_length"], row["real_length"]
        candidates = row["candidates"]
        where = f"length {length}, rate {case['mask_prob']}, {real} tokens"
        masked = hide_often(
            make_masking,
            vocabulary,
            text_row(real, length, candidates),
            2000,
            mask_rate=case["mask_prob"],
        )
        found = statistics(masked)
        assert set(found["used"]) == {row["slots_with_weight_1"]}, where
        assert masked.positions.shape[1] == row["slots"], where
        assert (masked.original_ids.numpy()[0] > 4).sum() == candidates, where
        assert row["distinct_expected_mean"] == pytest.approx(
            expected_distinct(candidates, row["slots_with_weight_1"]), abs=1e-3
        )
        # Both are samples: twice the variance of one.
        for ours, theirs in (("distinct", "distinct_mean"), ("shown", "replaced_by_mask_mean")):
            sigma = found[ours].std() * np.sqrt(2 / 2000)
            assert abs(found[ours].mean() - row[theirs]) <= 4.5 * sigma + 1e-9, (where, theirs)
        assert found["distinct"].std() == pytest.approx(row["distinct_sd"], abs=0.15), where
        # Every candidate is as likely.
        counts = found["hits"].sum(axis=0)
        assert counts.sum() == counts[masked.original_ids.numpy()[0] > 4].sum(), where
        expected = counts.sum() / candidates
        drawn = counts[masked.original_ids.numpy()[0] > 4]
        degrees = candidates - 1
        chi_square = ((drawn - expected) ** 2 / expected).sum()
        assert chi_square <= degrees + 4.5 * np.sqrt(2 * degrees) + 9, where


@pytest.mark.reference
@needs_reference
def test_the_corrupted_text_is_that_of_the_reference_repeats_and_all():
    inputs, outputs = recorded("a_pretraining/batches.npz"), recorded("a_pretraining/outputs.npz")
    masked = MaskedBatch(
        tf.constant(outputs["masked_input_ids"]),
        tf.constant(inputs["segment_ids"][0]),
        positions=tf.constant(outputs["masked_lm_positions"]),
        labels=tf.constant(outputs["masked_lm_ids"]),
        weights=tf.constant(outputs["masked_lm_weights"]),
        original_ids=tf.constant(inputs["input_ids"][0]),
    )
    found = corrupt(masked, tf.constant(outputs["sampled_ids"]))
    np.testing.assert_array_equal(found.input_ids, outputs["corrupted_input_ids"])
    np.testing.assert_array_equal(found.is_replaced, outputs["is_fake"])
    assert found.input_ids[0, 17] == (98 + 94) // 2  # hit twice
