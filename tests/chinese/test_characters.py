"""Character classes are BERT's."""

import unicodedata

import numpy as np
import pytest

from chinese.characters import (
    DELETED,
    HAN,
    NUM_CODE_POINTS,
    PUNCTUATION,
    SPACE,
    WORD,
    character_classes,
    code_points,
    is_control,
    is_full_width,
    is_han,
    is_punctuation,
    is_space,
)


@pytest.mark.parametrize("character", ["一", "鿿", "㐀", "豈", "\U00020000", "\U0002f800"])
def test_han_is_what_bert_isolates(character):
    assert is_han(character)


@pytest.mark.parametrize("character", ["の", "ー", "한", "ㄅ", "Ａ", "〇", "々", "\U0002ceb0", "a"])
def test_kana_hangul_and_later_extensions_are_not_han(character):
    assert not is_han(character)


@pytest.mark.parametrize("character", ["，", "。", "“", "—", "$", "^", "`", "~", "、", "（"])
def test_punctuation_takes_ascii_signs_and_unicode_p(character):
    assert is_punctuation(character)


@pytest.mark.parametrize("character", ["￥", "＋", "℃", "①", "a", "1", "中", "～"])
def test_symbols_outside_ascii_are_not_punctuation(character):
    assert not is_punctuation(character)


def test_invisible_characters_are_control_but_tab_and_line_end_are_not():
    assert all(map(is_control, "\0\x07\u200b\u200d\ufeff\xad\ufffd\ue000\U0003ffff"))
    assert not any(map(is_control, "\t\n\r \u3000a中"))


def test_spaces_include_the_ideographic_one_and_the_line_separator():
    assert all(map(is_space, " \t\n\r\u3000\xa0\u2028\u2029"))
    assert not any(map(is_space, "\u200b\x85a"))


def test_full_width_twins_of_ascii():
    assert all(map(is_full_width, "Ａ！"))
    assert not any(map(is_full_width, "。A"))


def test_the_table_says_what_the_predicates_say():
    table = character_classes()
    assert len(table) == NUM_CODE_POINTS
    for code_point in [*range(0x3100), *range(0x4DA0, 0x4E10), *range(0xF8F0, 0x10000), 0x2A6E0]:
        character = chr(code_point)
        expected = WORD
        if is_control(character):
            expected = DELETED
        elif is_space(character):
            expected = SPACE
        elif is_han(character):
            expected = HAN
        elif is_punctuation(character):
            expected = PUNCTUATION
        assert table[code_point] == expected, (hex(code_point), unicodedata.category(character))


def test_code_points_count_characters_not_bytes():
    assert code_points("a中\U0001f600\ud800").tolist() == [0x61, 0x4E2D, 0x1F600, 0xD800]
    assert code_points("").dtype == np.uint32
