"""Cutting, windows and offsets, by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chinese.clue.encoding import (
    Segment,
    TextSettings,
    join,
    longest_first,
    max_context_windows,
    tokenized,
    window_borders,
)


def _one_by_one(sizes, budget, spare_last):
    """The rule as it is told: a token at a time."""
    sizes = list(sizes)
    while sum(sizes) > budget:
        longest = max(sizes)
        places = [place for place, size in enumerate(sizes) if size == longest]
        sizes[places[0] if spare_last else places[-1]] -= 1
    return sizes


@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.integers(0, 60), st.booleans())
def test_the_longest_text_loses_a_token_at_a_time(sizes, budget, spare_last):
    kept = longest_first(sizes, budget, spare_last)
    assert kept == _one_by_one(sizes, budget, spare_last)


@given(st.integers(0, 60), st.integers(1, 20), st.integers(1, 25))
def test_windows_show_every_token_and_each_has_one_with_most_around_it(size, room, stride):
    borders = window_borders(size, room, stride)
    assert borders[0][0] == 0
    assert borders[-1][1] == size
    assert all(last - first <= room for first, last in borders)
    assert all(ours[1] >= theirs[0] for ours, theirs in itertools.pairwise(borders))
    chosen = max_context_windows(size, borders)
    for token, window in enumerate(chosen.tolist()):
        around = [
            min(token - first, last - 1 - token) + 0.01 * (last - first)
            if first <= token < last
            else -1.0
            for first, last in borders
        ]
        assert around[window] == max(around)
        assert window == around.index(max(around))


def test_a_sequence_has_specials_segments_and_offsets(toy_tokenizer):
    first, second = toy_tokenizer.encode(["一 ab", "二"])
    ids = toy_tokenizer.vocabulary.ids
    sequence = join(toy_tokenizer.vocabulary, [Segment(0, first, 0), Segment(1, second, 1)])
    names = ["[CLS]", "一", "ab", "[SEP]", "二", "[SEP]"]
    assert sequence.input_ids.tolist() == [ids[name] for name in names]
    assert sequence.segment_ids.tolist() == [0, 0, 0, 0, 1, 1]
    assert sequence.parts.tolist() == [-1, 0, 0, -1, 1, -1]
    assert sequence.spans.tolist() == [[0, 0], [0, 1], [2, 4], [0, 0], [0, 1], [0, 0]]
    assert {array.dtype for array in sequence} == {np.dtype(np.int32)}


def test_characters_are_tokens_where_they_should_be(toy_tokenizer):
    settings = TextSettings(16, tokens="characters")
    ((_, _, (line,)),) = tokenized(["ab 一"], lambda text: [text], toy_tokenizer, settings)
    unknown = toy_tokenizer.vocabulary.unk_id
    assert line.ids.tolist() == [unknown, unknown, toy_tokenizer.vocabulary.ids["一"]]
    assert line.spans.tolist() == [[0, 1], [1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_length": 8}, "max_length is 8; it takes 16"),
        ({"max_length": 32, "stride": 0}, "stride is 0"),
        ({"max_length": 32, "long_text": "drop"}, "long_text is 'drop': choose cut or windows"),
        ({"max_length": 32, "pooling": "sum"}, "pooling is 'sum': choose mean or max"),
        ({"max_length": 32, "tokens": "words"}, "tokens is 'words'"),
    ],
)
def test_settings_that_cannot_be_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        TextSettings(**values)
