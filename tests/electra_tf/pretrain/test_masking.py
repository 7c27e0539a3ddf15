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
from electra_tf.pretrain.word_runs import RUN_LAWS

MASK_ID = 4
VOCABULARY = VocabularyFacts(
    file="", size=40, sha256="", unk_id=1, cls_id=2, sep_id=3, mask_id=MASK_ID
)
MODES = ["token", "whole_word", "ngram", "span", "reference"]
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
    """Rows of word lengths that fit a length from 8 to 64; 0 is a [SEP]; some rows are empty."""
    length = draw(st.integers(8, 64))
    words = st.lists(st.integers(0, 4), max_size=length - 2)
    rows = []
    for row in draw(st.lists(words, min_size=1, max_size=4)):
        total = np.cumsum(np.maximum(row, 1))
        rows.append([word for word, end in zip(row, total, strict=True) if end <= length - 2])
    return rows, length


@SETTINGS
@given(
    layout=layouts(),
    mode=st.sampled_from(["token", "whole_word", "ngram", "span"]),
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
    cap = {"token": 1, "whole_word": config.max_unit_tokens, "ngram": 8, "span": 10}[mode]
    for row, words in enumerate(rows):
        positions = masked.positions.numpy()[row]
        assert len(set(positions)) == len(positions), "two slots at one place"
        in_use = positions[masked.weights.numpy()[row] > 0]
        assert list(in_use) == sorted(in_use)
        k = target(mask_rate, sum(words))
        assert max(0, k - cap + 1) <= hidden[row].sum() <= min(k + cap - 1, sum(words))
        if mode == "token":
            assert hidden[row].sum() == k
        else:
            for unit in set(units[row]) - {0}:
                assert len(set(hidden[row][units[row] == unit])) == 1, "half a word is hidden"


@SETTINGS
@given(
    layout=layouts(),
    mask_rate=st.sampled_from([0.0, 0.01, 0.15, 0.5, 1.0]),
    seed=st.integers(0, 2**31 - 1),
)
def test_the_reference_mode_too_hides_real_tokens_alone(
    lay_out, make_masking, layout, mask_rate, seed
):
    rows, length = layout
    batch = lay_out(rows, length)
    config = make_masking(mode="reference", mask_rate=mask_rate, mask_token_rate=1.0)
    masked = hide(batch, config, seed=(seed, 7))
    ids, hidden = batch.input_ids.numpy(), hidden_tokens(masked)
    assert masked.positions.shape == (len(rows), num_masked_slots(config, length))
    assert not np.any(hidden & (batch.unit_ids.numpy() == 0))
    np.testing.assert_array_equal(masked.input_ids, np.where(hidden, MASK_ID, ids))
    np.testing.assert_array_equal(
        masked.labels, np.take_along_axis(ids, masked.positions.numpy(), axis=1)
    )


@SETTINGS
@given(
    layout=layouts(),
    mode=st.sampled_from(MODES),
    seed=st.integers(0, 2**31 - 1),
    mask_token_rate=st.floats(0, 1),
    of_the_rest=st.floats(0, 1),
)
def test_tokens_that_are_not_hidden_stay_and_no_special_token_but_mask_comes_in(
    lay_out, make_masking, layout, mode, seed, mask_token_rate, of_the_rest
):
    batch = lay_out(*layout)
    random_token_rate = (1 - mask_token_rate) * of_the_rest
    config = make_masking(
        mode=mode, mask_token_rate=mask_token_rate, random_token_rate=random_token_rate
    )
    masked = hide(batch, config, seed=(seed, 1))
    changed = masked.input_ids.numpy() != batch.input_ids.numpy()
    assert not np.any(changed & ~hidden_tokens(masked))
    allowed = {MASK_ID} if random_token_rate == 0 else set(range(4, 40))
    assert set(masked.input_ids.numpy()[changed]) <= allowed
    # What the losses go by is the text as it was.
    np.testing.assert_array_equal(masked.original_ids, batch.input_ids)


# --- rates 0 and 1, by hand ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["token", "whole_word", "ngram", "span"])
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
        ("ngram", 128, 26),  # + cap 8 - 1
        ("span", 128, 28),  # + cap 10 - 1
        ("span", 8, 6),
        ("reference", 128, 19),  # int(0.155 · 128)
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


@pytest.mark.parametrize("mode", ["whole_word", "ngram", "span"])
@pytest.mark.parametrize("mask_rate", [0.15, 0.4])
@pytest.mark.parametrize(
    "words",
    [
        [1, 2, 3, 4] * 3,
        [4] + [1] * 26,
        [1] + [4] * 7,
        [3, 3],
        [2, 1, 3, 0, 1, 1, 4, 2],
    ],
)
def test_every_word_is_as_likely_however_long_it_is(
    lay_out, make_masking, repeat, mode, words, mask_rate
):
    """Of the runs of words, too, the chance is the same: each word lies in just one of them."""
    tokens = sum(words)
    batch = repeat(lay_out([words], 32), TIMES)
    config = make_masking(mode=mode, mask_rate=mask_rate)
    hidden = hidden_tokens(hide(batch, config, seed=(11, 12)))
    chance = target(mask_rate, tokens) / tokens
    units = batch.unit_ids.numpy()[0]
    firsts = np.flatnonzero(np.diff(units, prepend=0) * (units > 0))
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


@pytest.mark.parametrize("mode", ["ngram", "span"])
def test_hidden_runs_are_as_long_as_the_law_says(lay_out, make_masking, repeat, mode):
    """A budget of one token hides one run or none; those near the row's end may be cut short."""
    rates = np.array(RUN_LAWS[mode].rates)
    batch = repeat(lay_out([[1] * 62], 64), 2 * TIMES)
    config = make_masking(mode=mode, mask_rate=0.01, max_unit_tokens=1)
    hidden = hidden_tokens(hide(batch, config, seed=(5, 6)))
    lengths, firsts = hidden.sum(axis=1), hidden.argmax(axis=1)
    assert set(np.diff(hidden.astype(int), axis=1).clip(0).sum(axis=1)) == {0, 1}
    counted = lengths[(lengths > 0) & (firsts + len(rates) <= 63)]
    found = np.bincount(counted, minlength=len(rates) + 1)[1:]
    expected = len(counted) * rates
    assert len(counted) > 1500
    chi_square = ((found - expected) ** 2 / expected).sum()
    assert chi_square < {3: 21.1, 9: 33.7}[len(rates) - 1]  # 1 in 10,000


def test_many_seeds_hide_the_budget_too(lay_out, make_masking):
    """As above, over steps instead of rows."""
    batch = lay_out([[1, 2, 3, 4, 2, 1, 3, 4]], 24)
    config = make_masking()
    hide_at = tf.function(lambda step: mask(batch, config, VOCABULARY, tf.stack([9, step]), 0))
    counts = [hidden_tokens(hide_at(tf.constant(step))).sum() for step in range(600)]
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


def test_random_tokens_are_ordinary_and_equally_likely(lay_out, make_masking, repeat):
    batch = repeat(lay_out([[1, 2, 3, 4] * 3], 34), 4000)
    config = make_masking(mask_rate=0.5, mask_token_rate=0.0, random_token_rate=1.0)
    masked = hide(batch, config)
    found = np.bincount(masked.input_ids.numpy()[hidden_tokens(masked)], minlength=40)
    assert not found[:5].any(), "[PAD], [UNK], [CLS], [SEP] or [MASK] was drawn"
    expected = found.sum() / 35
    assert ((found[5:] - expected) ** 2 / expected).sum() < 76  # 34 degrees, 1 in 20,000


def test_special_tokens_may_stand_anywhere_in_the_vocabulary(lay_out, make_masking, repeat):
    """As in BERT's Chinese vocabulary: [PAD] 0, [UNK] 100, [CLS] 101 …, unused rows between."""
    facts = VOCABULARY.model_copy(
        update={"size": 12, "unk_id": 3, "cls_id": 11, "sep_id": 5, "mask_id": 6}
    )
    batch = repeat(lay_out([[1] * 20], 34), 100)
    config = make_masking(mask_rate=1.0, mask_token_rate=0.0, random_token_rate=1.0)
    masked = mask(batch, config, facts, tf.constant([1, 2]), 0)
    assert set(masked.input_ids.numpy()[hidden_tokens(masked)]) == {1, 2, 4, 7, 8, 9, 10}


@pytest.mark.parametrize("mode", ["whole_word", "span"])
def test_eighty_ten_ten(lay_out, make_masking, repeat, mode):
    """80 % [MASK], 10 % another token (in 34 of 35 draws), 10 % kept; each token by itself."""
    batch = repeat(lay_out([[4] * 8], 34), 4000)
    config = make_masking(mode=mode, mask_token_rate=0.8, random_token_rate=0.1)
    masked = hide(batch, config)
    hidden, shown = hidden_tokens(masked), masked.input_ids.numpy()
    kinds = np.where(shown == MASK_ID, 0, np.where(shown != batch.input_ids.numpy(), 1, 2))
    found = np.bincount(kinds[hidden], minlength=3) / hidden.sum()
    expected = np.array([0.8, 0.1 * 34 / 35, 0.1 + 0.1 / 35])
    assert np.all(np.abs(found - expected) < 4.5 * np.sqrt(expected / hidden.sum()))
    # Of two neighbours in a hidden word both show [MASK] in 0.8², not in 0.8.
    pairs = hidden[:, 1:5:3] & hidden[:, 2:6:3]
    both = (kinds[:, 1:5:3] == 0) & (kinds[:, 2:6:3] == 0)
    assert both[pairs].mean() == pytest.approx(0.64, abs=4.5 * np.sqrt(0.25 / pairs.sum()))


# --- seeds and replicas ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_replicas_hide_what_one_device_hides(lay_out, make_masking, mode):
    batch = lay_out([[1, 2, 3, 4], [4, 3, 2, 1], [1] * 10, [2] * 5, [], [4, 4], [3], [2, 4]], 14)
    config = make_masking(mode=mode, mask_rate=0.4, random_token_rate=0.1)
    whole = hide(batch, config)
    for replicas in (2, 8):
        rows = 8 // replicas
        parts = [
            hide(
                TokenBatch(*[column[first : first + rows] for column in batch[:3]]),
                config,
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


@pytest.mark.parametrize("mode", MODES)
def test_a_compiled_graph_hides_the_same_tokens(lay_out, make_masking, mode):
    batch = lay_out([[1, 2, 3, 4], [4, 3, 0, 2, 1]], 14)
    config = make_masking(mode=mode, mask_rate=0.4, random_token_rate=0.1)

    def hide_at(seed, row):
        return mask(batch, config, VOCABULARY, seed, row)

    eager = hide_at(tf.constant([1, 2]), tf.constant(6))
    for xla in (False, True) if mode in ("span", "reference") else (False,):
        graph = tf.function(hide_at, jit_compile=xla)(tf.constant([1, 2]), tf.constant(6))
        for name, ours, theirs in zip(eager._fields, graph, eager, strict=True):
            if theirs is not None:
                np.testing.assert_array_equal(ours, theirs, name)


def test_packed_texts_are_told_apart_and_stay_marked(lay_out, make_masking, repeat):
    """[CLS] AA B [SEP] [CLS] C D [SEP]: no run reaches from one text into the next."""
    ids = tf.constant([[2, 5, 6, 7, 3, 2, 8, 9, 3, 0]])
    units = tf.constant([[0, 1, 1, 2, 0, 0, 3, 4, 0, 0]])
    sequences = tf.constant([[1, 1, 1, 1, 1, 2, 2, 2, 2, 0]])
    rows = [tf.repeat(c, 500, axis=0) for c in (ids, tf.zeros_like(ids), units, sequences)]
    for mode in ("ngram", "span"):
        masked = hide(TokenBatch(*rows), make_masking(mode=mode, mask_rate=0.2))
        np.testing.assert_array_equal(masked.sequence_ids, rows[3])
        hidden = hidden_tokens(masked)
        assert not hidden[:, [0, 4, 5, 8, 9]].any()
        # k = 1: one run at the most, so never words of both.
        assert not np.any(hidden[:, 1:4].any(axis=1) & hidden[:, 6:8].any(axis=1))
        assert hidden[:, 1:4].any()
        assert hidden[:, 6:8].any()
