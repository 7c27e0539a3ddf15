"""Rows as the bytes of tf.train.Example: many at once, and the same for the same rows."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np

FEATURES = ("input_ids", "segment_ids", "unit_ids")

_LENGTH = struct.Struct("<I")


class SerializedExamples(NamedTuple):
    """Serialized examples on their way into a spill file.

    `data` has for each a length (uint32, little endian) and that many bytes; `tokens` leaves
    [CLS] and [SEP] out.
    """

    data: bytes
    documents: int
    examples: int
    tokens: int


def serialize_examples(
    examples: Sequence[Sequence[np.ndarray]], documents: int
) -> SerializedExamples:
    """Serializes the examples of some documents, each (input_ids, segment_ids, unit_ids)."""
    if not examples:
        return SerializedExamples(b"", documents, 0, 0)
    sizes = [len(example[0]) for example in examples]
    columns = [np.concatenate(column) for column in zip(*examples, strict=True)]
    records = serialize_rows(*columns, np.array(sizes))
    return join_records(records, documents, int(np.count_nonzero(columns[2])))


def join_records(records: Sequence[bytes], documents: int, tokens: int) -> SerializedExamples:
    """Puts records that are serialized already one after the other."""
    data = b"".join(map(with_length, records))
    return SerializedExamples(data, documents, len(records), tokens)


def with_length(record: bytes) -> bytes:
    """A record with its length in front, as `split_records` reads it."""
    return _LENGTH.pack(len(record)) + record


def serialize(input_ids: np.ndarray, segment_ids: np.ndarray, unit_ids: np.ndarray) -> bytes:
    """One example as the bytes of a tf.train.Example, equal input giving equal bytes.

    Args:
      input_ids: int [n], with [CLS] and [SEP], without padding.
      segment_ids: int [n].
      unit_ids: int [n].
    """
    return _record([_varints(column)[0] for column in (input_ids, segment_ids, unit_ids)])


def serialize_rows(
    input_ids: np.ndarray, segment_ids: np.ndarray, unit_ids: np.ndarray, sizes: np.ndarray
) -> list[bytes]:
    """Many examples, each as `tf.train.Example.SerializeToString(deterministic=True)` gives it.

    Written by hand, all rows at once: the protobuf classes take 50 µs for a row of 128 tokens,
    which was the slowest stage of a build.

    Args:
      input_ids: int [T], the rows one after the other.
      segment_ids: int [T].
      unit_ids: int [T].
      sizes: int [N], the length of each row, at least 1; together T.
    """
    assert len(sizes), "no rows"
    assert sizes.min() > 0, "protobuf leaves an empty list out"
    last = np.cumsum(sizes) - 1
    columns = []
    for column in (input_ids, segment_ids, unit_ids):
        packed, ends = _varints(column)
        ends = ends[last].tolist()
        columns.append([packed[start:end] for start, end in pairwise([0, *ends])])
    return [_record(row) for row in zip(*columns, strict=True)]


def _record(row: Sequence[bytes]) -> bytes:
    """The Example of three packed columns."""
    parts = []
    for name, packed in zip(FEATURES, row, strict=True):
        parts += [_column_head(name, len(packed)), packed]
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
    packed = np.empty(int(sizes.sum()), np.uint8)
    rows = np.arange(len(values))
    for index in range(int(sizes.max(initial=0))):
        rows = rows[sizes[rows] > index]
        goes_on = (sizes[rows] > index + 1).astype(np.uint64) << 7
        packed[starts[rows] + index] = values[rows] >> 7 * index & 0x7F | goes_on
    return packed.tobytes(), ends


@lru_cache(maxsize=1 << 14)
def _varint(value: int) -> bytes:
    bits = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(part | 0x80 for part in bits[:-1]), bits[-1]])


@lru_cache(maxsize=1 << 14)
def _column_head(name: str, size: int) -> bytes:
    """What stands before the `size` packed bytes of a column: map entry, key, Feature, list."""
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
