"""Packing keeps every token once, in rows that are not too long and never more."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from electra_tf.data.rows import pack, share_rows

LENGTHS = st.integers(8, 40)


@st.composite
def examples_and_length(draw):
    """Examples as `chinese.examples` builds them: [CLS] = 2, [SEP] = 3, all other ids differ."""
    length = draw(LENGTHS)
    sizes = draw(st.lists(st.integers(3, length), max_size=60))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    examples, next_id = [], 10
    for size in sizes:
        ids = np.arange(next_id, next_id + size)
        next_id += size
        ids[0], ids[-1] = 2, 3
        segments = np.zeros(size, int)
        units = np.r_[0, 1 + np.cumsum(np.r_[0, rng.integers(0, 2, size - 3)]), 0]
        if size > 4 and rng.integers(0, 2):
            ids[size // 2], units[size // 2], segments[size // 2 + 1 :] = 3, 0, 1
            ascending = np.unique(units[units > 0])
            units[units > 0] = 1 + np.searchsorted(ascending, units[units > 0])
        examples.append((ids, segments, units))
    return examples, length


def rows_of(packed):
    return list(
        zip(*(np.split(c, np.cumsum(packed.sizes)[:-1]) for c in packed.columns), strict=True)
    )


@given(examples_and_length())
def test_every_example_stands_whole_in_one_row_and_no_row_is_too_long(one_a_row, made):
    examples, length = made
    packed = pack(one_a_row(examples), length)
    assert len(packed.sizes) <= len(examples) == packed.sequences
    assert sum(packed.sizes) == sum(len(ids) for ids, _, _ in examples)
    found = []
    for ids, segments, units, sequences in rows_of(packed) if examples else ():
        assert len(ids) <= length
        assert set(np.diff(sequences)) <= {0, 1}
        assert sequences[0] == 1
        of_text = units[units > 0]
        assert (np.diff(of_text) >= 0).all()
        assert list(np.unique(of_text)) == list(range(1, of_text.max() + 1))
        for number in range(1, sequences[-1] + 1):
            own = sequences == number
            first = units[own][units[own] > 0].min()
            from_one = np.where(units[own] > 0, units[own] - first + 1, 0)
            found.append((*ids[own], -1, *segments[own], -1, *from_one))
    assert sorted(found) == sorted((*i, -1, *s, -1, *u) for i, s, u in examples)


@given(st.lists(st.integers(3, 30), max_size=200), st.integers(0, 9))
def test_no_two_rows_would_fit_into_one(sizes, more):
    length = 30 + more
    rows = share_rows(sizes, length)
    assert sorted(index for row in rows for index in row) == list(range(len(sizes)))
    filled = sorted(sum(sizes[index] for index in row) for row in rows)
    assert all(a + b > length for a, b in pairwise(filled))


def test_a_packed_row_by_hand(one_a_row):
    long = (
        np.array([2, 10, 11, 3, 12, 3]),
        np.array([0, 0, 0, 0, 1, 1]),
        np.array([0, 1, 1, 0, 2, 0]),
    )
    short = np.array([2, 13, 14, 3]), np.zeros(4, int), np.array([0, 1, 2, 0])
    other = np.array([2, 15, 3]), np.zeros(3, int), np.array([0, 1, 0])
    packed = pack(one_a_row([short, long, other]), 10)
    assert packed.sizes.tolist() == [10, 3]
    assert [column.tolist() for column in packed.columns] == [
        [2, 13, 14, 3, 2, 10, 11, 3, 12, 3, 2, 15, 3],
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0],
        [0, 1, 2, 0, 0, 3, 3, 0, 4, 0, 0, 1, 0],
        [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 1, 1, 1],
    ]
