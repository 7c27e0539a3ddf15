"""A text into sentences, closing quotes kept with them."""

import re

import numpy as np

from chinese.characters import HAN_RANGES, code_points
from chinese.spans import Span, array_to_spans, tile_from_borders

_CLOSERS = "”’」』）】》〉〕〗\"'\\)\\]"
# A half-width mark ends a sentence only before a blank, a closer, Han or the end: `?id=3` goes on.
_HAN = "".join(f"{chr(first)}-{chr(last)}" for first, last in HAN_RANGES)
_END = re.compile(
    rf"(?:[。！？；…｡]|[!?;]+(?=[\s{_CLOSERS}{_HAN}。！？；…]|\Z))"
    rf"[。！？；…｡!?;]*[{_CLOSERS}]*[^\S\n]*\n*|\n+"
)


# What an end can begin with: looked for in all characters at once, which is faster than a search.
_BEGINS_END = np.zeros(1 << 16, dtype=bool)
_BEGINS_END[code_points("。！？；…｡!?;\n")] = True


def sentence_borders(text: str) -> np.ndarray:
    """Gives int32 [n + 1]: 0, the start of every further sentence, len(text); [0] for no text."""
    points = code_points(text)
    places = np.flatnonzero(_BEGINS_END[points & 0xFFFF] & (points < 1 << 16))
    ends: list[int] = []
    end = 0
    for place in places.tolist():
        if place >= end and (match := _END.match(text, place)):
            end = match.end()
            ends.append(end)
    if text and (not ends or ends[-1] != len(text)):
        ends.append(len(text))
    return np.array([0, *ends], dtype=np.int32)


def split_sentences(text: str) -> list[Span]:
    """Gives the sentences of a text; they touch, and joined they are the text.

    A sentence ends after 。！？；… (and !?; where no ASCII word goes on), the closing quotes and
    brackets that follow, and the blanks after them; also after a line end. A piece may be as long
    as the text: `corpus` cuts what is over-long at unit borders.
    """
    return array_to_spans(tile_from_borders(sentence_borders(text)))
