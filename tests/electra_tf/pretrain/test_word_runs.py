"""Runs are whole neighbouring words of drawn numbers, and stop at special tokens and at the cap."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from electra_tf.pretrain.word_runs import RUN_LAWS, RunLaw, longest_run, word_runs

NGRAM, SPAN = RUN_LAWS["ngram"], RUN_LAWS["span"]


def cut(units, draws, law, max_unit_tokens=4) -> np.ndarray:
    units, draws = tf.constant(units, tf.int32), tf.constant(draws, tf.float32)
    return word_runs(units, draws, law, longest_run(law, max_unit_tokens)).numpy()


def walk(units, draws, law, cap) -> np.ndarray:
    """The same, word by word from left to right: int [L], 0 = special tokens, then 1, 2, 3 …"""
    chances = np.cumsum(law.rates)[:-1].astype(np.float32)
    runs = np.zeros(len(units), int)
    place = number = 0
    while place < len(units):
        if units[place] == 0:
            place += 1
            continue
        number += 1
        words_left = 1 + int((draws[place] >= chances).sum())
        begin = place
        while place < len(units) and units[place] and words_left:
            word = np.flatnonzero(units == units[place])
            if place > begin and word[-1] + 1 - begin > cap:
                break
            runs[word] = number
            place, words_left = word[-1] + 1, words_left - 1
    return runs


def ranked(runs: np.ndarray) -> np.ndarray:
    """Numbered 1, 2, 3 … without gaps; 0 stays."""
    return np.unique(np.append(0, runs), return_inverse=True)[1][1:]


# --- laws --------------------------------------------------------------------------------------


def test_ngrams_are_of_1_to_4_words():
    assert NGRAM.rates == (0.4, 0.3, 0.2, 0.1)
    assert NGRAM.max_tokens == 8


def test_spans_are_geometric_up_to_ten_words():
    percents = [22.4, 17.9, 14.3, 11.5, 9.2, 7.3, 5.9, 4.7, 3.8, 3.0]
    np.testing.assert_allclose(100 * np.array(SPAN.rates), percents, atol=0.05)
    assert sum(SPAN.rates) == pytest.approx(1.0)
    assert np.dot(SPAN.rates, range(1, 11)) == pytest.approx(3.80, abs=0.005)
    assert SPAN.max_tokens == 10


@pytest.mark.parametrize(
    ("law", "max_unit_tokens", "tokens"),
    [
        (NGRAM, 4, 8),
        (NGRAM, 1, 4),  # four words of one token
        (NGRAM, 12, 12),  # a word is never cut
        (SPAN, 4, 10),
        (SPAN, 1, 10),
    ],
)
def test_the_longest_run_is_known_beforehand(law, max_unit_tokens, tokens):
    assert longest_run(law, max_unit_tokens) == tokens


# --- cutting, by hand --------------------------------------------------------------------------


def test_runs_by_hand():
    # [CLS] AA B C DDD [SEP] E F [SEP] padding
    units = [0, 1, 1, 2, 3, 4, 4, 4, 0, 5, 6, 0, 0]
    # Draws that begin a run: at AA 0.5 (two words), at C 0.95 (four, but [SEP] comes), at E 0.1.
    draws = [0.9, 0.5, 0, 0, 0.95, 0, 0, 0, 0.9, 0.1, 0.39, 0.9, 0.9]
    runs = cut([units], [draws], NGRAM)[0]
    assert ranked(runs).tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 0, 3, 4, 0, 0]
    assert np.all(np.diff(runs[runs > 0]) >= 0)


def test_a_run_ends_before_the_word_that_would_make_it_longer_than_the_cap():
    units = [0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 0]
    # Four words from the first: 4 + 3 tokens, then the third would make 9; its run takes the rest.
    assert ranked(cut([units], [[0.99] * 14], NGRAM)[0]).tolist() == [
        *[0, 1, 1, 1, 1, 1, 1, 1],
        *[2, 2, 2, 2, 2, 0],
    ]
    units = [0, *[1] * 4, *[2] * 4, *[3] * 4, 0]
    assert ranked(cut([units], [[0.99] * 14], SPAN)[0]).tolist() == [0, *[1] * 8, *[2] * 4, 0]


def test_a_full_row_without_special_tokens_is_cut_to_its_end():
    assert ranked(cut([[1, 2, 3, 4, 5]], [[0.5] * 5], NGRAM)[0]).tolist() == [1, 1, 2, 2, 3]


# --- cutting, any row --------------------------------------------------------------------------


@st.composite
def rows(draw, length=48):
    """Words of 1 to 5 tokens, and special tokens anywhere between them."""
    units, word = [], 0
    for tokens in draw(st.lists(st.integers(0, 5), max_size=length)):
        word += tokens > 0
        units += [word] * tokens if tokens else [0]
    return np.array((units + [0] * length)[:length], np.int32)


@settings(max_examples=60, deadline=None)
@given(
    row=rows(),
    seed=st.integers(0, 2**31 - 1),
    law=st.sampled_from([NGRAM, SPAN, RunLaw((0.0, 0.0, 1.0), 6), RunLaw((1.0,), 8)]),
)
def test_rows_are_cut_as_a_reader_would_cut_them_word_by_word(row, seed, law):
    draws = np.random.default_rng(seed).random(len(row), np.float32)
    cap = longest_run(law, 5)
    runs = cut([row], [draws], law, max_unit_tokens=5)[0]
    np.testing.assert_array_equal(ranked(runs), walk(row, draws, law, cap))

    for number in set(runs) - {0}:
        places = np.flatnonzero(runs == number)
        assert len(places) <= cap
        assert np.all(np.diff(places) == 1), "a run jumps over something"
        words = set(row[places])
        assert len(words) <= len(law.rates)
        assert 0 not in words
        assert set(np.flatnonzero(np.isin(row, list(words)))) == set(places), "half a word"


def test_rows_of_a_batch_do_not_disturb_each_other_and_xla_cuts_alike():
    rng = np.random.default_rng(3)
    units = np.cumsum(rng.random((6, 40)) < 0.6, axis=1).astype(np.int32) + 1
    units[:, [0, 20, 21]] = 0
    draws = rng.random((6, 40), np.float32)
    together = cut(units, draws, SPAN)
    for row in range(6):
        np.testing.assert_array_equal(
            cut(units[row : row + 1], draws[row : row + 1], SPAN)[0], together[row]
        )
    compiled = tf.function(lambda u, d: word_runs(u, d, SPAN, 10), jit_compile=True)
    np.testing.assert_array_equal(compiled(tf.constant(units), tf.constant(draws)), together)


@pytest.mark.parametrize(("law", "counted"), [(NGRAM, 16), (SPAN, 6)])
def test_runs_are_as_long_as_the_law_says(law, counted):
    """Words of one token; the first runs of a row, which its end cannot cut short."""
    rng = np.random.default_rng(4)
    units = np.tile(np.arange(1, 65, dtype=np.int32), (4000, 1))
    runs = cut(units, rng.random(units.shape, np.float32), law, max_unit_tokens=1)
    assert counted * len(law.rates) <= 64
    lengths = np.concatenate([np.unique(r, return_counts=True)[1][:counted] for r in runs])
    found = np.bincount(lengths, minlength=len(law.rates) + 1)[1:]
    expected = len(lengths) * np.array(law.rates)
    chi_square = ((found - expected) ** 2 / expected).sum()
    assert len(found) == len(law.rates)
    assert chi_square < {3: 21.1, 9: 33.7}[len(law.rates) - 1]  # 1 in 10,000
