"""What a character is: Han, punctuation, space, control; BERT's definitions, also as a table.

Source: google-research/electra at 8a46635, `model/tokenization.py`, as in google-research/bert.
"""

import sys
import unicodedata
from functools import cache

import numpy as np

HAN_RANGES = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
NUM_CODE_POINTS = sys.maxunicode + 1
REPLACEMENT = 0xFFFD

WORD, HAN, PUNCTUATION, SPACE, DELETED = range(5)
"""The classes of `character_classes`; WORD is everything that may stand inside a WordPiece run."""


def is_han(character: str) -> bool:
    """Says whether BERT isolates this character: Han, but neither kana, hangul nor extension F."""
    code_point = ord(character)
    return any(first <= code_point <= last for first, last in HAN_RANGES)


def is_control(character: str) -> bool:
    """Says whether BERT deletes this character.

    That is U+0000, U+FFFD and category C* except tab and line ends; unassigned, private and
    surrogate code points, zero-width joiners and the BOM are among them.
    """
    if character in "\t\n\r":
        return False
    return ord(character) in (0, REPLACEMENT) or unicodedata.category(character).startswith("C")


def is_space(character: str) -> bool:
    """Says whether BERT breaks words here: tab, line ends, categories Z* (U+3000, U+2028)."""
    return character in "\t\n\r" or unicodedata.category(character).startswith("Z")


def is_punctuation(character: str) -> bool:
    """Says whether BERT makes this a token of its own: P*, and ASCII signs of any category.

    Symbols outside ASCII (￥, full-width ＋) are not punctuation.
    """
    code_point = ord(character)
    if 33 <= code_point <= 126:
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")


def is_full_width(character: str) -> bool:
    """Says whether this is the full-width twin of a printable ASCII character (Ａ, １, ！)."""
    return 0xFF01 <= ord(character) <= 0xFF5E


@cache
def character_classes() -> np.ndarray:
    """Gives uint8 [0x110000]: for each code point WORD, HAN, PUNCTUATION, SPACE or DELETED.

    A table, because millions of characters are classified at once. The classes exclude each other.
    """
    categories = "".join(map(unicodedata.category, map(chr, range(NUM_CODE_POINTS))))
    major = np.frombuffer(categories.encode("ascii"), dtype="S1").reshape(-1, 2)[:, 0]
    table = np.full(NUM_CODE_POINTS, WORD, dtype=np.uint8)
    table[major == b"P"] = PUNCTUATION
    table[major == b"Z"] = SPACE
    table[major == b"C"] = DELETED
    table[REPLACEMENT] = DELETED
    for code_point in range(127):
        character = chr(code_point)
        if is_space(character):
            table[code_point] = SPACE
        elif is_punctuation(character):
            table[code_point] = PUNCTUATION
    for first, last in HAN_RANGES:
        # Unassigned places inside the ranges stay deleted: BERT cleans before it looks for Han.
        block = table[first : last + 1]
        block[block == WORD] = HAN
    table.flags.writeable = False
    return table


def code_points(text: str) -> np.ndarray:
    """Gives uint32 [len(text)]; lone surrogates are kept as they are."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
