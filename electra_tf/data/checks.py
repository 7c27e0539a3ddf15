"""Whether the shards of a folder are what its manifest says, down to the last record."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from electra_tf.batches import PAD_ID
from electra_tf.data.manifest import Manifest, Shard, VocabularyFacts
from electra_tf.data.records import read_records
from electra_tf.data.serialization import FEATURES, PACKED_FEATURES

_ROWS_AT_ONCE = 1024
_BYTES_AT_ONCE = 1 << 20
# TensorFlow quotes the record in its message, and trips over bytes that are no UTF-8.
_UNPARSED = (tf.errors.InvalidArgumentError, UnicodeDecodeError)


class ShardCheck(NamedTuple):
    """What was found in one shard.

    Fields:
      file: its name in the folder.
      examples: records that could be read.
      tokens: in them, [CLS] and [SEP] left out.
      defects: one line for each kind of defect; empty for a sound shard.
    """

    file: str
    examples: int
    tokens: int
    defects: tuple[str, ...]


class _Defects:
    """Collects defects by kind: the first record that shows one, and how many more do."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._count: dict[str, int] = {}

    def add(self, kind: str, records: np.ndarray) -> None:
        """Notes a kind of defect for record numbers, int [n]."""
        if len(records):
            self._first.setdefault(kind, int(records[0]))
            self._count[kind] = self._count.get(kind, 0) + len(records)

    def lines(self) -> list[str]:
        return [
            f"record {first}: {kind}"
            + (f" (and {self._count[kind] - 1:,} more)" if self._count[kind] > 1 else "")
            for kind, first in self._first.items()
        ]


def check_shard(
    folder: str | Path, shard: Shard, manifest: Manifest, progress: Callable[[int], None]
) -> ShardCheck:
    """Reads one shard whole: size, hash, checksums, and every record against the manifest.

    Args:
      folder: of the records.
      shard: as the manifest has it.
      manifest: says what a record may hold: the longest example and unit, the vocabulary.
      progress: told how many records were read since it was last told.

    Returns:
      What was found; a defect is reported, not raised.
    """
    path = Path(folder) / shard.file
    if not path.is_file():
        return ShardCheck(shard.file, 0, 0, ("the manifest names this shard, but it is missing",))
    of_file = _file_defects(path, shard)
    defects = _Defects()
    examples = tokens = 0
    try:
        for rows in _read_batches(path):
            tokens += _check_rows(rows, examples, manifest, defects)
            examples += len(rows)
            progress(len(rows))
    except ValueError as error:
        of_file.append(f"unreadable after record {examples:,}: {error}")
    if examples != shard.examples:
        of_file.append(f"{examples:,} records found, {shard.examples:,} expected")
    return ShardCheck(shard.file, examples, tokens, tuple(of_file + defects.lines()))


def _file_defects(path: Path, shard: Shard) -> list[str]:
    size = path.stat().st_size
    if size != shard.bytes:
        change = "truncated" if size < shard.bytes else "altered"
        return [f"{size:,} bytes found, {shard.bytes:,} expected: the file is {change}"]
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while content := file.read(_BYTES_AT_ONCE):
            digest.update(content)
    if digest.hexdigest() != shard.sha256:
        return ["SHA-256 is not that of the manifest: the file is altered"]
    return []


def _read_batches(path: Path) -> Iterator[np.ndarray]:
    """Yields records, object [n] of bytes, up to the first that cannot be read.

    Raises:
      ValueError: there is such a record.
    """
    done = 0
    try:
        for rows in tf.data.TFRecordDataset(str(path)).batch(_ROWS_AT_ONCE).as_numpy_iterator():
            yield rows
            done += len(rows)
    except tf.errors.DataLossError:
        # The readable head of the batch is lost with it; one by one nothing is.
        for row in islice(read_records(path), done, None):
            yield np.array([row], object)


def _check_rows(rows: np.ndarray, before: int, manifest: Manifest, defects: _Defects) -> int:
    """Checks some records; `before` stood in front of them. Gives their tokens of text."""
    numbers = before + np.arange(1, len(rows) + 1)
    names = PACKED_FEATURES if manifest.train.is_packed else FEATURES
    parsed, is_whole = _parse(rows, names)
    defects.add(f"is no example with int64 lists {', '.join(names)}", numbers[~is_whole])
    lengths = np.stack([np.diff(column[1]) for column in parsed], axis=1)
    is_equal = (lengths == lengths[:, :1]).all(axis=1)
    defects.add("its lists differ in length", numbers[is_whole & ~is_equal])
    sizes = lengths[:, 0]
    has_size = (sizes >= 3) & (sizes <= manifest.max_length)
    defects.add(
        f"has fewer than 3 or more than {manifest.max_length} tokens",
        numbers[is_whole & is_equal & ~has_size],
    )
    good = is_whole & is_equal & has_size
    if not good.any():
        return 0
    ids, segments, units, *packed = (_padded(*c, good, manifest.max_length) for c in parsed)
    numbers, sizes = numbers[good], sizes[good]
    for kind, is_bad in _unit_defects(ids, units, manifest).items():
        defects.add(kind, numbers[is_bad])
    num_tokens = int((units > 0).sum())
    if packed:
        (sequences,) = packed
        is_bad = _is_disordered(sequences, sizes)
        defects.add("sequence ids do not rise from 1 in steps of 1", numbers[is_bad])
        good = ~is_bad
        if not good.any():
            return num_tokens
        row, sizes, (ids, segments) = _apart((ids[good], segments[good]), sequences[good])
        numbers = numbers[good][row]
        defects.add("a sequence has fewer than 3 tokens", np.unique(numbers[sizes < 3]))
    of_sequences = {
        **_id_defects(ids, sizes, manifest.vocabulary),
        **_segment_defects(ids, segments, manifest.vocabulary),
    }
    for kind, is_bad in of_sequences.items():
        defects.add(kind, np.unique(numbers[is_bad]))
    return num_tokens


def _is_disordered(sequences: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """bool [n]: rows whose sequence ids, int64 [n, L], are not 1 1 … 2 2 … 3 3 …"""
    steps = np.diff(sequences, axis=1)
    is_real = np.arange(1, sequences.shape[1]) < sizes[:, None]
    return (sequences[:, 0] != 1) | (is_real & (steps != 0) & (steps != 1)).any(axis=1)


def _apart(
    columns: tuple[np.ndarray, ...], sequences: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Gives every sequence a row of its own.

    Args:
      columns: int64 [n, L] each.
      sequences: int64 [n, L], 1 1 … 2 2 …, -1 = padding.

    Returns:
      int64 [S] each, the row a sequence stands in and its tokens; the columns, int64 [S, L], -1 =
      padding.
    """
    is_real = sequences > 0
    row, _ = np.nonzero(is_real)
    _, first, sizes = np.unique(
        row << 32 | sequences[is_real], return_index=True, return_counts=True
    )
    splits, every = np.append(first, len(row)), np.ones(len(sizes), bool)
    apart = [_padded(column[is_real], splits, every, column.shape[1]) for column in columns]
    return row[first], sizes, apart


def _parse(
    rows: np.ndarray, names: tuple[str, ...]
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Gives values and row splits of each feature, and bool [n]: which rows are such examples."""
    features = dict.fromkeys(names, tf.io.RaggedFeature(tf.int64))
    is_whole = np.ones(len(rows), bool)
    try:
        parsed = tf.io.parse_example(rows, features)
    except _UNPARSED:
        is_whole = np.array([_is_example(row, features) for row in rows])
        parsed = tf.io.parse_example(np.where(is_whole, rows, b""), features)
    columns = [parsed[name] for name in names]
    return [(c.values.numpy(), c.row_splits.numpy()) for c in columns], is_whole


def _is_example(row: bytes, features: dict[str, tf.io.RaggedFeature]) -> bool:
    try:
        tf.io.parse_example([row], features)
    except _UNPARSED:
        return False
    return True


def _padded(values: np.ndarray, splits: np.ndarray, good: np.ndarray, length: int) -> np.ndarray:
    """int64 [n, L] of the good rows, -1 = padding."""
    starts, sizes = splits[:-1][good], np.diff(splits)[good]
    places = np.arange(length)
    is_real = places < sizes[:, None]
    return np.where(is_real, values[np.where(is_real, starts[:, None] + places, 0)], -1)


def _id_defects(
    ids: np.ndarray, sizes: np.ndarray, facts: VocabularyFacts
) -> dict[str, np.ndarray]:
    is_real = np.arange(ids.shape[1]) < sizes[:, None]
    is_outside = is_real & ((ids < 0) | (ids >= facts.size))
    is_cls, is_sep = ids == facts.cls_id, ids == facts.sep_id
    last_is_sep = is_sep[np.arange(len(ids)), sizes - 1]
    return {
        f"an id is outside the vocabulary of {facts.size:,} tokens": is_outside.any(axis=1),
        "[PAD] stands inside": (is_real & (ids == PAD_ID)).any(axis=1),
        "[MASK] stands inside": (ids == facts.mask_id).any(axis=1),
        "[CLS] is not first and only there": ~is_cls[:, 0] | (is_cls.sum(axis=1) != 1),
        "[SEP] is not last, or stands there more than twice": ~last_is_sep
        | (is_sep.sum(axis=1) > 2),
    }


def _segment_defects(
    ids: np.ndarray, segments: np.ndarray, facts: VocabularyFacts
) -> dict[str, np.ndarray]:
    is_sep = ids == facts.sep_id
    expected = np.cumsum(is_sep, axis=1) - is_sep
    is_wrong = (segments != expected) & (ids >= 0)
    return {"segment ids are not 0 up to the first [SEP] and 1 after it": is_wrong.any(axis=1)}


def _unit_defects(ids: np.ndarray, units: np.ndarray, manifest: Manifest) -> dict[str, np.ndarray]:
    facts, cap = manifest.vocabulary, manifest.max_unit_tokens
    is_special = (ids == facts.cls_id) | (ids == facts.sep_id)
    is_text = (ids >= 0) & ~is_special
    earlier = np.maximum.accumulate(np.maximum(units, 0), axis=1)
    earlier = np.pad(earlier, ((0, 0), (1, 0)))[:, :-1]
    beside = np.pad(units, ((0, 0), (1, 0)))[:, :-1]
    step = units - earlier
    is_torn = (step == 0) & (beside != units)
    is_disordered = (is_text & ((step < 0) | (step > 1) | is_torn)).any(axis=1)
    goes_on_too_long = (units[:, cap:] == units[:, :-cap]) & is_text[:, cap:]
    return {
        "unit ids are not 0 on [CLS] and [SEP] alone": (
            (is_special & (units != 0)) | (is_text & (units <= 0))
        ).any(axis=1),
        "unit ids do not rise from 1 in steps of 1": is_disordered,
        f"a unit has more than {cap} tokens": goes_on_too_long.any(axis=1) & ~is_disordered,
    }


def strange_shards(folder: str | Path, manifest: Manifest) -> Iterator[str]:
    """Shards that lie in the folder though the manifest does not name them."""
    known = {shard.file for split in (manifest.train, manifest.held_out) for shard in split.shards}
    for path in sorted(Path(folder).glob("*.tfrecord*")):
        if path.name not in known:
            yield path.name
