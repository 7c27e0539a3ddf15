"""Rows as the bytes of tf.train.Example: many at once, and the same for the same rows."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np

from electra_tf.data.rows import Rows

FEATURES = ("input_ids", "segment_ids", "unit_ids")
PACKED_FEATURES = (*FEATURES, "sequence_ids")
"""Of records in which several sequences share a row."""

_LENGTH = struct.Struct("<I")


class SerializedExamples(NamedTuple):
    """Serialized examples on their way into a spill file.

    `data` has for each a length (uint32, little endian) and that many bytes; `tokens` leaves
    [CLS] and [SEP] out; `sequences` as in `Rows`.
    """

    data: bytes
    documents: int
    examples: int
    tokens: int
    sequences: int | None = None


def serialize_rows(rows: Rows, documents: int) -> SerializedExamples:
    """Serializes the rows that some documents have become."""
    records = serialize_columns(rows.columns, rows.sizes)
    tokens = int(np.count_nonzero(rows.columns[2]))
    return join_records(records, documents, tokens, rows.sequences)


def join_records(
    records: Sequence[bytes], documents: int, tokens: int, sequences: int | None = None
) -> SerializedExamples:
    """Puts records that are serialized already one after the other."""
    data = b"".join(map(with_length, records))
    return SerializedExamples(data, documents, len(records), tokens, sequences)


def with_length(record: bytes) -> bytes:
    """A record with its length in front, as `split_records` reads it."""
    return _LENGTH.pack(len(record)) + record


def serialize(*columns: np.ndarray) -> bytes:
    """One example as the bytes of a tf.train.Example, equal input giving equal bytes.

    Args:
      columns: int [n], in the order of `FEATURES` or `PACKED_FEATURES`, without padding.
    """
    names, columns = _in_order(columns)
    return _record(names, [_varints(column)[0] for column in columns])


def serialize_columns(columns: Sequence[np.ndarray], sizes: np.ndarray) -> list[bytes]:
    """Many examples, each as `tf.train.Example.SerializeToString(deterministic=True)` gives it.

    Written by hand, all rows at once: the protobuf classes take 50 µs for a row of 128 tokens,
    which was the slowest stage of a build.

    Args:
      columns: int [T], the rows one after the other, in the order of `FEATURES` or
        `PACKED_FEATURES`.
      sizes: int [N], the length of each row, at least 1; together T.
    """
    assert sizes.min(initial=1) > 0, "protobuf leaves an empty list out"
    last = np.cumsum(sizes) - 1
    names, columns = _in_order(columns)
    lists = []
    for column in columns:
        varints, ends = _varints(column)
        ends = ends[last].tolist()
        lists.append([varints[start:end] for start, end in pairwise([0, *ends])])
    return [_record(names, row) for row in zip(*lists, strict=True)]


def _in_order(columns: Sequence[np.ndarray]) -> tuple[list[str], list[np.ndarray]]:
    """Names and columns in protobuf's deterministic order, which is that of the names."""
    names = PACKED_FEATURES[: len(columns)]
    order = sorted(range(len(names)), key=lambda index: names[index])
    return [names[index] for index in order], [columns[index] for index in order]


def _record(names: Sequence[str], row: Sequence[bytes]) -> bytes:
    """The Example of some columns, each as varints."""
    parts = []
    for name, varints in zip(names, row, strict=True):
        parts += [_column_head(name, len(varints)), varints]
    body = b"".join(parts)
    return b"\x0a" + _varint(len(body)) + body


def _varints(values: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Protobuf's variable-length integers, 7 bits a byte, and where each of them ends."""
    values = np.asarray(values, np.int64).view(np.uint64)  # so that a negative one takes ten bytes
    largest = int(values.max(initial=0))
    if largest < 128:  # segments always, units mostly
        return values.astype(np.uint8).tobytes(), np.arange(1, len(values) + 1)
    sizes = np.ones(len(values), np.int64)
    for bits in range(7, largest.bit_length(), 7):
        sizes += values >> bits > 0
    ends = np.cumsum(sizes)
    starts = ends - sizes
    varints = np.empty(int(sizes.sum()), np.uint8)
    rows = np.arange(len(values))
    for index in range(int(sizes.max(initial=0))):
        rows = rows[sizes[rows] > index]
        goes_on = (sizes[rows] > index + 1).astype(np.uint64) << 7
        varints[starts[rows] + index] = values[rows] >> 7 * index & 0x7F | goes_on
    return varints.tobytes(), ends


@lru_cache(maxsize=1 << 14)
def _varint(value: int) -> bytes:
    bits = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(part | 0x80 for part in bits[:-1]), bits[-1]])


@lru_cache(maxsize=1 << 14)
def _column_head(name: str, size: int) -> bytes:
    """What stands before the `size` bytes of a column: map entry, key, Feature, list."""
    head = b"\x0a" + _varint(size)
    for tag in (b"\x1a", b"\x12"):
        head = tag + _varint(len(head) + size) + head
    head = b"\x0a" + _varint(len(name)) + name.encode("ascii") + head
    return b"\x0a" + _varint(len(head) + size) + head


def each_record(examples: SerializedExamples) -> Iterator[bytes]:
    """The serialized examples, one by one."""
    yield from split_records(io.BytesIO(examples.data))


def split_records(file: IO[bytes]) -> Iterator[bytes]:
    """The records of a file of `SerializedExamples.data`, one by one."""
    while head := file.read(_LENGTH.size):
        (size,) = _LENGTH.unpack(head)
        record = file.read(size)
        assert len(record) == size, "a spill file changed while we read it"
        yield record
