"""Corpus cleaning takes out the invisible and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chinese.normalize import clean_line


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\ufeff中国\r\n", "中国"),
        ("中\0国\x07", "中国"),
        ("one\u2028two\x85three\x0cfour", "one two three four"),
        ("a\t\tb", "a b"),
        ("\u3000\u3000段落", "段落"),
        ("Ｔ恤，１２　３", "Ｔ恤，１２　３"),
        ("👩\u200d👩", "👩\u200d👩"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("soft\xadhyphen", "softhyphen"),
        ("", ""),
    ],
)
def test_only_the_invisible_goes(raw, clean):
    assert clean_line(raw) == clean


@given(st.text(st.characters()))
def test_a_clean_line_stays_as_it_is_and_is_one_line_of_utf8(text):
    cleaned = clean_line(text)
    assert clean_line(cleaned) == cleaned
    assert len(cleaned.encode("utf-8").split(b"\n")) <= text.count("\n") + 1
