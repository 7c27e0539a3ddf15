"""The currency between the rooms of this package: character offsets, never strings."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Span(NamedTuple):
    """A half-open stretch `[start, end)` of a text, counted in code points of the text as given."""

    start: int
    end: int


def spans_to_array(spans: Iterable[tuple[int, int]]) -> np.ndarray:
    """Gives int32 [n, 2] (start, end), also for no spans at all."""
    return np.array(list(spans), dtype=np.int32).reshape(-1, 2)


def array_to_spans(array: np.ndarray) -> list[Span]:
    """Gives the rows of an int [n, 2] array as spans of Python integers."""
    return [Span(start, end) for start, end in array.tolist()]


def tile_from_borders(borders: np.ndarray) -> np.ndarray:
    """Gives int32 [n - 1, 2]: the stretches between n ascending borders."""
    return np.stack([borders[:-1], borders[1:]], axis=1).astype(np.int32)
