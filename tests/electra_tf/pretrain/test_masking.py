"""Which tokens are hidden: always whole units, every unit as likely, the same on any replicas."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from electra_tf.batches import TokenBatch
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.pretrain.masking import mask, num_masked_slots

MASK_ID = 4
VOCABULARY = VocabularyFacts(
    file="", size=40, sha256="", unk_id=1, cls_id=2, sep_id=3, mask_id=MASK_ID
)
SETTINGS = settings(max_examples=60, deadline=None)


def hide(batch, config, seed=(1, 2), first_row=0):
    return mask(batch, config, VOCABULARY, tf.constant(seed), tf.constant(first_row))


def hidden_tokens(masked) -> np.ndarray:
    """bool [B, L] from the slots in use."""
    hidden = np.zeros(masked.input_ids.shape, bool)
    rows, slots = np.nonzero(masked.weights.numpy())
    hidden[rows, masked.positions.numpy()[rows, slots]] = True
    return hidden


def target(mask_rate: float, tokens: int) -> int:
    return max(1, round(mask_rate * tokens)) if mask_rate and tokens else 0


@pytest.fixture(scope="module")
def repeat():
    """Many rows of one layout: as good as many seeds, in one call."""

    def make(batch: TokenBatch, times: int) -> TokenBatch:
        return TokenBatch(*[tf.repeat(column, times, axis=0) for column in batch[:3]])

    return make


# --- any layout ------------------------------------------------------------------------------


@st.composite
def layouts(draw):
    """Rows of word lengths that fit a length from 8 to 64; some rows are empty."""
    length = draw(st.integers(8, 64))
    words = st.lists(st.integers(1, 4), max_size=length - 2)
    rows = []
    for row in draw(st.lists(words, min_size=1, max_size=4)):
        total = np.cumsum(row)
        rows.append([word for word, end in zip(row, total, strict=True) if end <= length - 2])
    return rows, length


@SETTINGS
@given(
    layout=layouts(),
    mode=st.sampled_from(["whole_word", "token"]),
    mask_rate=st.sampled_from([0.0, 0.01, 0.15, 0.3, 0.5, 0.85, 1.0]),
    seed=st.integers(0, 2**31 - 1),
)
def test_only_whole_units_are_hidden_and_each_in_a_slot_of_its_own(
    lay_out, make_masking, layout, mode, mask_rate, seed
):
    rows, length = layout
    batch = lay_out(rows, length)
    config = make_masking(mode=mode, mask_rate=mask_rate, mask_token_rate=1.0)
    masked = hide(batch, config, seed=(seed, 7))
    ids, units = batch.input_ids.numpy(), batch.unit_ids.numpy()
    hidden = hidden_tokens(masked)

    assert masked.positions.shape == (len(rows), num_masked_slots(config, length))
    assert set(np.unique(masked.weights)) <= {0.0, 1.0}
    assert not np.any(hidden & (units == 0)), "a special token or padding is hidden"
    # With a mask_token_rate of 1, [MASK] stands at exactly the places the slots name.
    np.testing.assert_array_equal(masked.input_ids, np.where(hidden, MASK_ID, ids))
    np.testing.assert_array_equal(masked.original_ids, ids)
    np.testing.assert_array_equal(
        masked.labels, np.take_along_axis(ids, masked.positions.numpy(), axis=1)
    )
    cap = config.max_unit_tokens if mode == "whole_word" else 1
    for row, words in enumerate(rows):
        positions = masked.positions.numpy()[row]
        assert len(set(positions)) == len(positions), "two slots at one place"
        in_use = positions[masked.weights.numpy()[row] > 0]
        assert list(in_use) == sorted(in_use)
        k = target(mask_rate, sum(words))
        assert max(0, k - cap + 1) <= hidden[row].sum() <= min(k + cap - 1, sum(words))
        if mode == "whole_word":
            for unit in range(1, len(words) + 1):
                assert len(set(hidden[row][units[row] == unit])) == 1, "half a word is hidden"
        else:
            assert hidden[row].sum() == k


@SETTINGS
@given(layout=layouts(), seed=st.integers(0, 2**31 - 1), mask_token_rate=st.floats(0, 1))
def test_tokens_that_are_not_hidden_stay(lay_out, make_masking, layout, seed, mask_token_rate):
    batch = lay_out(*layout)
    masked = hide(batch, make_masking(mask_token_rate=mask_token_rate), seed=(seed, 1))
    changed = masked.input_ids.numpy() != batch.input_ids.numpy()
    assert not np.any(changed & ~hidden_tokens(masked))
    assert set(masked.input_ids.numpy()[changed]) <= {MASK_ID}


# --- rates 0 and 1, by hand ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["whole_word", "token"])
def test_rate_0_hides_nothing_and_rate_1_everything(lay_out, make_masking, mode):
    batch = lay_out([[2, 1, 3], [1], []], 10)
    assert not hidden_tokens(hide(batch, make_masking(mode=mode, mask_rate=0.0))).any()
    masked = hide(batch, make_masking(mode=mode, mask_rate=1.0, mask_token_rate=1.0))
    np.testing.assert_array_equal(hidden_tokens(masked), batch.unit_ids.numpy() > 0)
    np.testing.assert_array_equal(
        masked.input_ids,
        [[2, 4, 4, 4, 4, 4, 4, 3, 0, 0], [2, 4, 3, 0, 0, 0, 0, 0, 0, 0], [0] * 10],
    )


def test_a_row_of_padding_is_left_alone(lay_out, make_masking):
    batch = lay_out([[], [3, 3]], 12)
    for seed in range(20):
        masked = hide(batch, make_masking(mask_rate=0.5), seed=(seed, 0))
        assert not masked.weights.numpy()[0].any()
        assert not masked.input_ids.numpy()[0].any()


def test_a_row_of_one_token_hides_it_always(lay_out, make_masking, repeat):
    batch = repeat(lay_out([[1]], 8), 200)
    assert hidden_tokens(hide(batch, make_masking(mask_rate=0.01)))[:, 1].all()


def test_units_of_two_sentences_are_told_apart_from_the_sep_between_them(make_masking, repeat):
    row = TokenBatch(
        tf.constant([[2, 5, 6, 3, 7, 8, 3, 0]]),
        tf.constant([[0, 0, 0, 0, 1, 1, 1, 0]]),
        tf.constant([[0, 1, 1, 0, 2, 2, 0, 0]]),
    )
    hidden = hidden_tokens(hide(repeat(row, 500), make_masking(mask_rate=0.5)))
    assert not hidden[:, [0, 3, 6, 7]].any()
    assert np.all(hidden[:, 1] == hidden[:, 2])
    assert np.all(hidden[:, 4] == hidden[:, 5])
    assert np.all(hidden[:, 1] != hidden[:, 4])  # k = 2 of 4: exactly one of the two words


@pytest.mark.parametrize(
    ("mode", "length", "slots"),
    [
        ("token", 128, 19),  # round(0.15 · 126) = round(18.9)
        ("whole_word", 128, 22),  # + cap 4 - 1
        ("whole_word", 8, 4),
        ("token", 8, 1),
    ],
)
def test_slots_are_known_before_the_first_batch(make_masking, mode, length, slots):
    assert num_masked_slots(make_masking(mode=mode), length) == slots


@pytest.mark.parametrize(
    ("mask_rate", "tokens"), [(0.15, 190), (0.15, 350), (0.15, 390), (0.3, 95), (0.3, 415)]
)
def test_the_budget_is_rounded_as_the_number_of_slots_is(
    lay_out, make_masking, repeat, mask_rate, tokens
):
    """mask_rate · tokens ends in .5: in 32 bits it may round to another side than in 64."""
    batch = repeat(lay_out([[1] * tokens], tokens + 2), 4)
    config = make_masking(mode="token", mask_rate=mask_rate, mask_token_rate=1.0)
    masked = hide(batch, config)
    in_slots = hidden_tokens(masked).sum(axis=1)
    np.testing.assert_array_equal(in_slots, round(mask_rate * tokens))
    np.testing.assert_array_equal((masked.input_ids.numpy() == MASK_ID).sum(axis=1), in_slots)


# --- chances ---------------------------------------------------------------------------------

TIMES = 6000


@pytest.mark.parametrize("mask_rate", [0.15, 0.4])
@pytest.mark.parametrize(
    "words",
    [
        [1, 2, 3, 4] * 3,
        [4] + [1] * 26,
        [1] + [4] * 7,
        [3, 3],
    ],
)
def test_every_unit_is_as_likely_however_long_it_is(
    lay_out, make_masking, repeat, words, mask_rate
):
    tokens = sum(words)
    batch = repeat(lay_out([words], 32), TIMES)
    hidden = hidden_tokens(hide(batch, make_masking(mask_rate=mask_rate), seed=(11, 12)))
    chance = target(mask_rate, tokens) / tokens
    firsts = 1 + np.cumsum([0, *words[:-1]])
    sigma = np.sqrt(chance * (1 - chance) / TIMES)
    np.testing.assert_allclose(hidden[:, firsts].mean(axis=0), chance, atol=4.5 * sigma)
    # … and so the expected number of hidden tokens is the budget itself.
    counts = hidden.sum(axis=1)
    slack = 4.5 * max(counts.std(), 1e-9) / np.sqrt(TIMES)
    assert abs(counts.mean() - target(mask_rate, tokens)) <= slack


def test_long_words_are_not_starved(lay_out, make_masking, repeat):
    """Filling up to k and drawing the last unit, in its place, misses this by 12 sigma."""
    words = [1, 1, 2, 2, 3, 3, 4, 4] * 3
    batch = repeat(lay_out([words], 64), 4 * TIMES)
    hidden = hidden_tokens(hide(batch, make_masking(), seed=(3, 4)))
    firsts = 1 + np.cumsum([0, *words[:-1]])
    rates = [hidden[:, firsts[np.array(words) == size]].mean() for size in (1, 2, 3, 4)]
    chance = 9 / 60
    sigma = np.sqrt(chance * (1 - chance) / (4 * TIMES * 6))
    np.testing.assert_allclose(rates, chance, atol=5 * sigma)


def test_many_seeds_hide_the_budget_too(lay_out, make_masking):
    """As above, over steps instead of rows."""
    batch = lay_out([[1, 2, 3, 4, 2, 1, 3, 4]], 24)
    config = make_masking()
    hide_at = tf.function(lambda step: mask(batch, config, VOCABULARY, tf.stack([9, step]), 0))
    counts = [hidden_tokens(hide_at(tf.constant(step))).sum() for step in range(1500)]
    assert abs(np.mean(counts) - 3) <= 4 * np.std(counts) / np.sqrt(len(counts))
    assert min(counts) >= 0
    assert max(counts) <= 6


def test_hidden_tokens_show_mask_in_85_of_100(lay_out, make_masking, repeat):
    batch = repeat(lay_out([[1, 2, 3, 4] * 6], 64), 1000)
    masked = hide(batch, make_masking())
    hidden = hidden_tokens(masked)
    shows = (masked.input_ids.numpy() == MASK_ID)[hidden]
    sigma = np.sqrt(0.85 * 0.15 / len(shows))
    assert abs(shows.mean() - 0.85) <= 4 * sigma
    kept = hidden & (masked.input_ids.numpy() != MASK_ID)
    np.testing.assert_array_equal(masked.input_ids.numpy()[kept], batch.input_ids.numpy()[kept])
    # Tokens are kept one by one, not word by word.
    units = batch.unit_ids.numpy()
    inner = hidden[:, 1:] & (units[:, 1:] == units[:, :-1]) & (units[:, 1:] > 0)
    assert np.any(inner & (kept[:, 1:] != kept[:, :-1]))


# --- seeds and replicas ----------------------------------------------------------------------


def test_replicas_hide_what_one_device_hides(lay_out, make_masking):
    batch = lay_out([[1, 2, 3, 4], [4, 3, 2, 1], [1] * 10, [2] * 5, [], [4, 4], [3], [2, 4]], 14)
    whole = hide(batch, make_masking(mask_rate=0.4))
    for replicas in (2, 4, 8):
        rows = 8 // replicas
        parts = [
            hide(
                TokenBatch(*[column[first : first + rows] for column in batch[:3]]),
                make_masking(mask_rate=0.4),
                first_row=first,
            )
            for first in range(0, 8, rows)
        ]
        for name, *pieces in zip(whole._fields[:6], *(part[:6] for part in parts), strict=True):
            np.testing.assert_array_equal(tf.concat(pieces, 0), getattr(whole, name), name)


def test_rows_of_one_text_are_masked_differently(lay_out, make_masking, repeat):
    batch = repeat(lay_out([[1] * 30], 32), 16)
    hidden = hidden_tokens(hide(batch, make_masking()))
    assert len({row.tobytes() for row in hidden}) > 12


@pytest.mark.parametrize("other", [(1, 3), (2, 2), (2, 1)])
def test_another_seed_hides_other_tokens(lay_out, make_masking, repeat, other):
    batch = repeat(lay_out([[1, 2, 3, 4] * 3], 32), 8)
    first, again, second = (
        hidden_tokens(hide(batch, make_masking(), seed=seed)) for seed in ((1, 2), (1, 2), other)
    )
    np.testing.assert_array_equal(first, again)
    assert np.any(first != second)


def test_a_compiled_graph_hides_the_same_tokens(lay_out, make_masking):
    batch = lay_out([[1, 2, 3, 4], [4, 3, 2, 1]], 14)
    config = make_masking(mask_rate=0.4)
    graph = tf.function(lambda seed, row: mask(batch, config, VOCABULARY, seed, row))
    for name, ours, theirs in zip(
        hide(batch, config)._fields,
        graph(tf.constant([1, 2]), tf.constant(0)),
        hide(batch, config),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs, name)
