"""Examples into rows of records: one in each, or as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """Rows of records, laid end to end, without padding.

    Fields:
      columns: int [T] each: input_ids, segment_ids, unit_ids and, where examples share rows,
        sequence_ids.
      sizes: int64 [N], tokens of each row; together T.
      sequences: how many examples stand in them; None where each has a row of its own.
    """

    columns: tuple[np.ndarray, ...]
    sizes: np.ndarray
    sequences: int | None


def pack(rows: Rows, max_length: int) -> Rows:
    """Lets examples share rows, each whole, with its [CLS] and its [SEP].

    The sequences of a row are numbered from 1, and so are its units from the first sequence to the
    last: no unit reaches into two sequences.

    Args:
      rows: an example in each, none longer than `max_length`.
      max_length: L, places of a row.

    Returns:
      At most as many rows as there are examples.
    """
    shares = share_rows(rows.sizes.tolist(), max_length)
    order = np.array([index for share in shares for index in share], np.int64)
    num_shares = np.array([len(share) for share in shares], np.int64)
    sizes = rows.sizes[order]
    first = np.cumsum(num_shares) - num_shares
    place = np.arange(len(sizes)) - np.repeat(first, num_shares)
    # Where the tokens of the reordered examples stood before.
    starts = np.cumsum(rows.sizes) - rows.sizes
    tokens = np.arange(sizes.sum()) + np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes)
    input_ids, segment_ids, unit_ids = (column[tokens] for column in rows.columns)
    return Rows(
        (
            input_ids,
            segment_ids,
            _counted_on(unit_ids, sizes, place),
            np.repeat(place + 1, sizes),
        ),
        np.add.reduceat(sizes, first) if len(first) else sizes,
        len(sizes),
    )


def share_rows(sizes: Sequence[int], max_length: int) -> list[list[int]]:
    """Says which examples share a row: the longest first, each where it leaves the least room.

    The answer is a function of the sizes alone. No two of its rows would fit into one.

    Args:
      sizes: tokens of each example, 1 to `max_length`.
      max_length: places of a row.

    Returns:
      The numbers of the examples in each row, ascending; the rows by their first example.

    >>> share_rows([5, 2, 8, 3, 3], max_length=8)
    [[0, 3], [1, 4], [2]]
    """
    rows: list[list[int]] = []
    with_room: list[list[int]] = [[] for _ in range(max_length + 1)]
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        size = sizes[index]
        room = next((room for room in range(size, max_length) if with_room[room]), max_length)
        if room < max_length:
            row = with_room[room].pop()
            rows[row].append(index)
        else:
            row = len(rows)
            rows.append([index])
        with_room[room - size].append(row)
    return sorted(sorted(row) for row in rows)


def _counted_on(unit_ids: np.ndarray, sizes: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Unit ids that go on where those of the sequence before end; 0 stays 0.

    Args:
      unit_ids: int [T], from 1 in each sequence.
      sizes: int64 [S], of each sequence.
      place: int64 [S], of each sequence in its row.
    """
    if not len(sizes):
        return unit_ids
    num_units = np.maximum.reduceat(unit_ids, np.cumsum(sizes) - sizes)
    before = np.cumsum(num_units) - num_units
    before -= np.maximum.accumulate(np.where(place == 0, before, 0))
    return np.where(unit_ids > 0, unit_ids + np.repeat(before, sizes), 0)
