"""TFRecord shards: writing them shuffled, whole, and the same for the same seed.

A record is one tf.train.Example with `input_ids`, `segment_ids`, `unit_ids` and, where several
sequences share a record, `sequence_ids`: int64 lists of equal length, at most max_length, without
padding; see `TokenBatch`.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import tensorflow as tf

from electra_tf.data.manifest import BUILD_TIMES, MANIFEST, Shard, Split
from electra_tf.data.serialization import (
    SerializedExamples,
    join_records,
    serialize,
    split_records,
    with_length,
)

SplitName = Literal["train", "held_out"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)
MAX_OPEN_FILES = 256
FRAME_BYTES = 16  # TFRecord: length 8, its checksum 4, the data's checksum 4


class SplitWriter:
    """Collects the examples of one split in a spill file, then shuffles them into shards.

    Memory holds one shard at a time, however large the corpus.
    """

    def __init__(self, folder: str | Path, name: SplitName):
        self._folder = Path(folder)
        self._name = name
        self._spill = self._folder / f"{name}.spill"
        self._file = self._spill.open("wb", buffering=1 << 20)
        self._examples = 0
        self._tokens = 0
        self._documents = 0
        self._sequences: int | None = None

    def add(self, examples: SerializedExamples) -> None:
        """Adds the examples of some documents."""
        self._file.write(examples.data)
        self._documents += examples.documents
        self._examples += examples.examples
        self._tokens += examples.tokens
        if examples.sequences is not None:
            self._sequences = (self._sequences or 0) + examples.sequences

    def add_document(self, examples: Iterable[Sequence[np.ndarray]]) -> None:
        """Adds the examples of one document, each (input_ids, segment_ids, unit_ids)."""
        examples = list(examples)
        tokens = sum(int(np.count_nonzero(unit_ids)) for _, _, unit_ids in examples)
        self.add(join_records([serialize(*example) for example in examples], 1, tokens))

    def close(self) -> None:
        """Lets go of the spill file; for a build that is given up."""
        # What could not be written is written again, in vain, when a full disk is left alone.
        with suppress(OSError):
            self._file.close()

    def finish(self, examples_per_shard: int, seed: int) -> Split:
        """Shuffles all examples over the shards, each written whole and then renamed.

        Of any n examples in a row, n the number of shards, each shard gets one, by lot; the
        examples of a shard are then permuted. So all shards are alike in size and content.

        Args:
          examples_per_shard: examples of one file at most.
          seed: of the shuffle.

        Raises:
          OSError: a file cannot be written; names it.
        """
        self._file.close()
        num_shards = -(-self._examples // examples_per_shard)
        key = [seed, zlib.crc32(self._name.encode())]
        shards = []
        for index, bucket in enumerate(self._fill_buckets(num_shards, key)):
            records = list(_read_spilled(bucket))
            order = np.random.default_rng([*key, 1 + index]).permutation(len(records))
            file = shard_file(self._name, index, num_shards)
            shards.append(write_shard(self._folder / file, [records[i] for i in order]))
            bucket.unlink()
        self._spill.unlink()
        return Split(
            documents=self._documents,
            examples=self._examples,
            tokens=self._tokens,
            sequences=self._sequences,
            shards=tuple(shards),
        )

    def _fill_buckets(self, num_shards: int, key: list[int]) -> list[Path]:
        """Deals the spilled records out to one unsorted file a shard.

        Where there are more shards than files may be open at once, the spill is read again.
        """
        paths = [self._folder / f"{self._name}.bucket{i}" for i in range(num_shards)]
        for first in range(0, num_shards, MAX_OPEN_FILES):
            with ExitStack() as stack:
                batch = paths[first : first + MAX_OPEN_FILES]
                files = [stack.enter_context(open(path, "wb")) for path in batch]
                lots = _lots(num_shards, np.random.default_rng([*key, 0]))
                for record, shard in zip(_read_spilled(self._spill), lots, strict=False):
                    if first <= shard < first + len(batch):
                        files[shard - first].write(with_length(record))
        return paths


def _lots(num_shards: int, rng: np.random.Generator) -> Iterator[int]:
    """Shards without end, every one of them once in each run of `num_shards`."""
    runs = max(1, (1 << 16) // num_shards)
    while True:
        yield from rng.permuted(np.tile(np.arange(num_shards), (runs, 1)), axis=1).ravel().tolist()


def prepare_folder(folder: str | Path) -> None:
    """Makes an empty folder for a build, clearing what an unfinished build of ours has left.

    Raises:
      ValueError: finished records stand there, or anything that is not ours.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        raise ValueError(
            f"{folder}: holds finished records already; give another --out, or remove that folder"
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file; give another --out")
    leftovers = list(folder.iterdir()) if folder.is_dir() else []
    strangers = [path.name for path in leftovers if not _is_ours(path)]
    if strangers:
        raise ValueError(
            f"{folder}: is not empty and holds no records (found {strangers[0]}); "
            f"give an empty or new folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"{folder}: cannot be made ({error.strerror}); give another --out"
        ) from error
    for path in leftovers:
        path.unlink()


def give_up_folder(folder: str | Path) -> None:
    """Takes back what a build that failed has written, as far as that is possible."""
    folder = Path(folder)
    with suppress(OSError):
        for path in [*folder.iterdir()]:
            if _is_ours(path):
                path.unlink()
        folder.rmdir()


def unigram_entropy_nats(counts: np.ndarray) -> float:
    """Entropy of tokens drawn by their frequency: what a guess without context can reach.

    Args:
      counts: int64 [V], how often each token stands in the text.

    Returns:
      Nats a token; 0.0 for an empty text.
    """
    counts = counts[counts > 0].astype(np.float64)
    if not counts.size:
        return 0.0
    probabilities = counts / counts.sum()
    return float(-(probabilities * np.log(probabilities)).sum())


def read_records(path: str | Path) -> Iterator[bytes]:
    """The raw records of one file, in order.

    Raises:
      ValueError: the file is truncated or damaged; names it.
    """
    try:
        yield from tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    except tf.errors.DataLossError as error:
        raise ValueError(f"{path}: truncated or damaged: {error.message}") from None


def _read_spilled(path: Path) -> Iterator[bytes]:
    with open(path, "rb", buffering=1 << 20) as file:
        yield from split_records(file)


def shard_file(name: str, index: int, num_shards: int) -> str:
    """The name of a shard.

    >>> shard_file("train", 0, 12)
    'train-00000-of-00012.tfrecord'
    """
    return f"{name}-{index:05d}-of-{num_shards:05d}.tfrecord"


def write_shard(path: Path, records: Sequence[bytes]) -> Shard:
    """Writes a shard under a temporary name, then renames it.

    Raises:
      OSError: it cannot be written whole; names it.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with tf.io.TFRecordWriter(str(temporary)) as writer:
            for record in records:
                writer.write(record)
    except tf.errors.OpError as error:
        raise OSError(f"{path}: cannot be written ({error.message}); is the disk full?") from None
    content = temporary.read_bytes()
    expected = sum(map(len, records)) + FRAME_BYTES * len(records)
    if len(content) != expected:
        raise OSError(f"{path}: {len(content)} of {expected} bytes were written; is the disk full?")
    os.replace(temporary, path)
    return Shard(
        file=path.name,
        examples=len(records),
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _is_ours(path: Path) -> bool:
    """True for what a killed build may leave behind."""
    suffixes = (".tfrecord", ".spill", ".tmp")
    names = ("vocab.txt", "spiece.model", "report.html", BUILD_TIMES)
    is_known = path.suffix in suffixes or ".bucket" in path.name or path.name in names
    return is_known and path.is_file()
