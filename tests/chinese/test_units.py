"""Units are what is masked together: words, capped, each token in exactly one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chinese.segmentation import make_segmenter
from chinese.units import unit_ids


def _units(text: str, words: str, tokens: str, **options) -> list[int]:
    """Words and tokens as written between bars; a token may be `_` characters long for [UNK]."""
    word_spans, token_spans, place = [], [], 0
    for word in words.split("|"):
        word_spans.append((place, place + len(word)))
        place += len(word)
    assert place == len(text)
    place = 0
    for token in tokens.split("|"):
        place = text.index(token, place)
        token_spans.append((place, place + len(token)))
        place += len(token)
    return unit_ids(np.array(token_spans), np.array(word_spans), text, **options).tolist()


def test_the_characters_of_a_word_share_a_unit():
    assert _units("中国人民的", "中国|人民|的", "中|国|人|民|的") == [1, 1, 2, 2, 3]


def test_latin_joins_han_where_the_segmenter_joined_them():
    assert _units("买T恤", "买|T恤", "买|T|恤") == [1, 2, 2]


def test_digits_latin_and_marks_are_their_own_units():
    assert _units("3.14元", "3.14|元", "3|.|14|元") == [1, 2, 3, 4]
    assert _units("C++好", "C++|好", "C|+|+|好") == [1, 2, 3, 4]


def test_a_wordpiece_run_is_one_unit_whatever_the_segmenter_says():
    assert _units("wifi6好", "wifi|6|好", "wi|fi|6|好") == [1, 1, 1, 2]
    assert _units("a b", "a| |b", "a|b") == [1, 2]


def test_a_run_goes_on_across_deleted_characters():
    assert _units("ab\u200bcd", "a|b\u200bcd", "ab|cd") == [1, 1]


def test_a_run_longer_than_the_cap_falls_into_pieces():
    assert _units("abcdef", "abcdef", "a|b|c|d|e|f", cap=4) == [1, 1, 1, 1, 2, 2]


def test_a_long_word_is_cut_finer_first():
    text = "中华人民共和国好"
    words, tokens = "中华人民共和国|好", "|".join(text)
    assert _units(text, words, tokens, cap=4) == [1, 1, 1, 1, 2, 2, 2, 3]
    finer = make_segmenter("rjieba").finer_cut
    assert _units(text, words, tokens, cap=3, finer_cut=finer) == [1, 1, 2, 2, 3, 3, 3, 4]


def test_no_unit_reaches_over_a_break():
    assert _units("中国人", "中国人", "中|国|人", breaks=np.array([0, 1])) == [1, 2, 2]


def test_a_cap_of_one_masks_by_token():
    assert _units("中国ab", "中国|ab", "中|国|a|b", cap=1) == [1, 2, 3, 4]


def test_no_tokens_have_no_units_and_a_bad_cap_is_refused():
    assert unit_ids(np.zeros((0, 2)), [(0, 1)], " ").tolist() == []
    with pytest.raises(ValueError, match="cap is 0"):
        _units("中", "中", "中", cap=0)


RJIEBA = make_segmenter("rjieba")
text_strategy = st.text(st.sampled_from("中华人民共和国T恤ab 1.，\u200b哈好") | st.characters())


@given(text=text_strategy, cap=st.integers(1, 5), data=st.data())
@settings(max_examples=200)
def test_units_cover_the_tokens_in_ascending_order_within_the_cap(text, cap, data):
    places = sorted(data.draw(st.sets(st.integers(0, max(len(text) - 1, 0)))) if text else [])
    spans = np.array([(place, place + 1) for place in places], dtype=np.int32).reshape(-1, 2)
    text = text.encode("utf-8", "replace").decode("utf-8")
    units = unit_ids(spans, RJIEBA.segment(text), text, RJIEBA.finer_cut, cap)
    assert len(units) == len(spans)
    if len(units):
        assert units[0] == 1
        assert set(np.diff(units).tolist()) <= {0, 1}
        assert np.bincount(units).max() <= cap
