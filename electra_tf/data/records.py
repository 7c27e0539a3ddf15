"""TFRecord shards: writing them shuffled, whole, and the same for the same seed.

A record is one tf.train.Example with `input_ids`, `segment_ids`, `unit_ids`: int64 lists of equal
length, at most max_length, without padding.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import tensorflow as tf

from electra_tf.data.manifest import MANIFEST, Shard, Split

FEATURES = ("input_ids", "segment_ids", "unit_ids")
SplitName = Literal["train", "held_out"]
MAX_OPEN_FILES = 256


def serialize(input_ids: np.ndarray, segment_ids: np.ndarray, unit_ids: np.ndarray) -> bytes:
    """One example as the bytes of a tf.train.Example, equal input giving equal bytes.

    Args:
      input_ids: int [n], with [CLS] and [SEP], without padding.
      segment_ids: int [n].
      unit_ids: int [n].
    """
    columns = zip(FEATURES, (input_ids, segment_ids, unit_ids), strict=True)
    features = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=column))
        for name, column in columns
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)


class SplitWriter:
    """Collects the examples of one split in a spill file, then shuffles them into shards.

    Memory holds one shard at a time, and 8 bytes for each example.
    """

    def __init__(self, folder: str | Path, name: SplitName):
        self._folder = Path(folder)
        self._name = name
        self._spill = self._folder / f"{name}.spill"
        self._writer = tf.io.TFRecordWriter(str(self._spill))
        self._examples = 0
        self._tokens = 0
        self._documents = 0

    def add_document(self, examples: Iterable[Sequence[np.ndarray]]) -> None:
        """Adds the examples of one document, each (input_ids, segment_ids, unit_ids)."""
        self._documents += 1
        for input_ids, segment_ids, unit_ids in examples:
            self._writer.write(serialize(input_ids, segment_ids, unit_ids))
            self._examples += 1
            self._tokens += int(np.count_nonzero(unit_ids))

    def finish(self, examples_per_shard: int, seed: int) -> Split:
        """Shuffles all examples over the shards, each written whole and then renamed.

        Args:
          examples_per_shard: examples of one file at most.
          seed: of the permutation.
        """
        self._writer.close()
        num_shards = -(-self._examples // examples_per_shard)
        place = np.random.default_rng([seed, zlib.crc32(self._name.encode())]).permutation(
            self._examples
        )
        buckets = self._fill_buckets(place, num_shards, examples_per_shard)
        shards = []
        for index, bucket in enumerate(buckets):
            file = f"{self._name}-{index:05d}-of-{num_shards:05d}.tfrecord"
            order = np.argsort(place[_in_shard(place, index, examples_per_shard)])
            records = list(read_records(bucket))
            shards.append(_write_shard(self._folder / file, [records[i] for i in order]))
            bucket.unlink()
        self._spill.unlink()
        return Split(
            documents=self._documents,
            examples=self._examples,
            tokens=self._tokens,
            shards=tuple(shards),
        )

    def _fill_buckets(self, place: np.ndarray, num_shards: int, size: int) -> list[Path]:
        """Deals the spilled records out to one unsorted file a shard.

        Where there are more shards than files may be open at once, the spill is read again.
        """
        paths = [self._folder / f"{self._name}.bucket{i}" for i in range(num_shards)]
        for first in range(0, num_shards, MAX_OPEN_FILES):
            batch = paths[first : first + MAX_OPEN_FILES]
            writers = [tf.io.TFRecordWriter(str(path)) for path in batch]
            for record, shard in zip(read_records(self._spill), place // size, strict=True):
                if first <= shard < first + len(batch):
                    writers[shard - first].write(record)
            for writer in writers:
                writer.close()
        return paths


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
    if folder.is_dir():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


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


def _in_shard(place: np.ndarray, index: int, size: int) -> np.ndarray:
    return np.flatnonzero(place // size == index)


def _write_shard(path: Path, records: list[bytes]) -> Shard:
    temporary = path.with_name(path.name + ".tmp")
    with tf.io.TFRecordWriter(str(temporary)) as writer:
        for record in records:
            writer.write(record)
    content = temporary.read_bytes()
    os.replace(temporary, path)
    return Shard(
        file=path.name,
        examples=len(records),
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _is_ours(path: Path) -> bool:
    """True for what a killed build may leave behind."""
    known = (".tfrecord", ".spill", ".tmp")
    return path.suffix in known or ".bucket" in path.name or path.name == "vocab.txt"
