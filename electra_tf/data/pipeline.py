"""Batches out of records, in an order that is a pure function of (seed, step).

The stream is endless: epoch after epoch, each a permutation of the shards, and within each visit
of a shard a permutation of its rows. Both are drawn from the seed and the manifest's counts, so
the batch of any step is found without reading what came before it: a run resumes at step
1,000,000 as fast as at step 1, and several workers cut the same global batches.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

from electra_tf.batches import TokenBatch
from electra_tf.data.manifest import Split
from electra_tf.data.serialization import FEATURES, PACKED_FEATURES


def training_batches(
    folder: str | Path,
    split: Split,
    *,
    max_length: int,
    batch_size: int,
    seed: int,
    first_step: int = 0,
    context: tf.distribute.InputContext | None = None,
) -> tf.data.Dataset:
    """The endless training stream from a given step on.

    Args:
      folder: the folder of records.
      split: its shards, as the manifest has them.
      max_length: L, every row is padded to it.
      batch_size: B, examples of one *global* batch.
      seed: of the order.
      first_step: the step whose batch comes first.
      context: which of the workers and replicas this pipeline feeds; None = all in one.

    Returns:
      A dataset of `TokenBatch`: the parts of each global batch that belong to this worker's
      replicas, one after the other, int32 [B / replicas, L] each.
    """
    own_rows = _cutter(batch_size, context or tf.distribute.InputContext())
    stream = _record_stream(folder, split, seed, first_example=first_step * batch_size)
    dataset = stream.batch(batch_size, drop_remainder=True).map(own_rows).unbatch()
    dataset = dataset.map(
        lambda records: _parse(records, max_length, split.is_packed),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    # Where an end is possible, several workers ask each other at every step whether it is there.
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    return dataset.apply(endless).prefetch(tf.data.AUTOTUNE)


def evaluation_batches(
    folder: str | Path,
    split: Split,
    *,
    max_length: int,
    batch_size: int,
    max_batches: int,
    context: tf.distribute.InputContext | None = None,
) -> tf.data.Dataset:
    """Every held-out example once, in the order of the records, up to a number of batches.

    Args:
      folder: the folder of records.
      split: its shards.
      max_length: L.
      batch_size: B; the last batch is filled up with rows of padding, which weigh nothing.
      max_batches: batches at the most.
      context: as in `training_batches`.

    Returns:
      A dataset of `TokenBatch`, int32 [B / replicas, L].
    """
    own_rows = _cutter(batch_size, context or tf.distribute.InputContext())

    def fill(records: tf.Tensor) -> tf.Tensor:
        missing = batch_size - tf.shape(records)[0]
        # An empty text is an example without tokens.
        return own_rows(tf.concat([records, tf.fill([missing], "")], axis=0))

    files = [str(Path(folder) / shard.file) for shard in split.shards]
    batches = tf.data.TFRecordDataset(files).batch(batch_size).take(max_batches)
    parts = batches.map(fill).unbatch()
    return parts.map(lambda records: _parse(records, max_length, split.is_packed)).prefetch(2)


def _cutter(
    batch_size: int, context: tf.distribute.InputContext
) -> Callable[[tf.Tensor], tf.Tensor]:
    """A function from the records of a global batch [B] to those of a worker's replicas.

    These are [replicas of the worker, B / replicas]. All workers cut the same batches.
    """
    per_replica = batch_size // context.num_replicas_in_sync
    mine = batch_size // context.num_input_pipelines
    start = context.input_pipeline_id * mine

    def own_rows(records: tf.Tensor) -> tf.Tensor:
        return tf.reshape(records[start : start + mine], [mine // per_replica, per_replica])

    return own_rows


def _record_stream(
    folder: str | Path, split: Split, seed: int, first_example: int
) -> tf.data.Dataset:
    """Serialized examples from position `first_example` of the endless stream on."""
    files = tf.constant([str(Path(folder) / shard.file) for shard in split.shards])
    sizes = np.array([shard.examples for shard in split.shards], np.int64)
    if not sizes.sum():
        raise ValueError(f"{folder}: the training records hold no example; give more text")
    first_visit, skipped_rows = _locate(sizes, seed, first_example)
    num_shards = len(sizes)

    def read_visit(visit: tf.Tensor) -> tf.Tensor:
        shard = _shard_of_visit(visit, num_shards, seed)
        size = tf.gather(tf.constant(sizes), shard)
        rows = tf.random.experimental.index_shuffle(
            tf.range(size), _shuffle_seed(seed, visit, salt=1), max_index=size - 1
        )
        rows = rows[skipped_rows * tf.cast(visit == first_visit, tf.int64) :]
        whole = tf.data.TFRecordDataset(tf.gather(files, shard)).batch(tf.maximum(size, 1))
        return tf.gather(whole.get_single_element(), rows)

    visits = tf.data.Dataset.range(first_visit, np.iinfo(np.int64).max)
    contents = visits.map(read_visit, num_parallel_calls=2, deterministic=True).prefetch(1)
    return contents.unbatch()


def _locate(sizes: np.ndarray, seed: int, first_example: int) -> tuple[int, int]:
    """The visit in which the stream's example number `first_example` stands, and its row there."""
    num_shards = len(sizes)
    epoch, offset = divmod(first_example, int(sizes.sum()))
    visits = tf.range(epoch * num_shards, (epoch + 1) * num_shards, dtype=tf.int64)
    order = np.array([int(_shard_of_visit(visit, num_shards, seed)) for visit in visits])
    ends = np.cumsum(sizes[order])
    place = int(np.searchsorted(ends, offset, side="right"))
    before = int(ends[place - 1]) if place else 0
    return epoch * num_shards + place, offset - before


def _shard_of_visit(visit: tf.Tensor, num_shards: int, seed: int) -> tf.Tensor:
    """int64 scalar: the shard read at a visit; each epoch of `num_shards` visits reads all."""
    place, epoch = visit % num_shards, visit // num_shards
    return tf.random.experimental.index_shuffle(
        place, _shuffle_seed(seed, epoch, salt=0), max_index=tf.constant(num_shards - 1, tf.int64)
    )


def _shuffle_seed(seed: int, counter: tf.Tensor, salt: int) -> tf.Tensor:
    """int64 [2]: shards and rows are permuted independently, in each epoch and visit anew."""
    return tf.stack([tf.constant(2 * seed + salt, tf.int64), tf.cast(counter, tf.int64)])


def _parse(records: tf.Tensor, max_length: int, is_packed: bool) -> TokenBatch:
    """string [B] of serialized examples into padded columns."""
    names = PACKED_FEATURES if is_packed else FEATURES
    column = tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=0)
    parsed = tf.io.parse_example(records, dict.fromkeys(names, column))

    def pad(values: tf.Tensor) -> tf.Tensor:
        missing = max_length - tf.shape(values)[1]
        padded = tf.pad(tf.cast(values, tf.int32), [[0, 0], [0, missing]])
        return tf.ensure_shape(padded, [records.shape[0], max_length])

    return TokenBatch(*[pad(parsed[name]) for name in names])
