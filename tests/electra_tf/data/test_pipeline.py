"""The order of training is a pure function of seed and step."""

import time

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.data.pipeline import evaluation_batches, training_batches
from electra_tf.data.records import SplitWriter
from electra_tf.data.rows import pack
from electra_tf.data.serialization import serialize_rows

EXAMPLES = 100


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """One hundred examples [CLS] n [SEP], n = 100 … 199, in four shards."""
    folder = tmp_path_factory.mktemp("records")
    writer = SplitWriter(folder, "train")
    for number in range(EXAMPLES):
        ids = np.array([2, 100 + number, 3] if number % 2 else [2, 100 + number, 9, 3])
        units = np.where(ids > 3, np.arange(len(ids)), 0)
        writer.add_document([(ids, (ids == 9).astype(int), units)])
    return folder, writer.finish(30, seed=1)


def numbers(records, steps, *, first_step=0, context=None, batch_size=8, seed=3):
    """int [steps, rows]: which examples the pipeline gives."""
    folder, split = records
    batches = training_batches(
        folder,
        split,
        max_length=6,
        batch_size=batch_size,
        seed=seed,
        first_step=first_step,
        context=context,
    )
    return np.stack([batch.input_ids.numpy()[:, 1] for batch in batches.take(steps)])


def test_each_epoch_gives_every_example_once_in_another_order(records):
    stream = numbers(records, 50).ravel()
    epochs = stream.reshape(4, EXAMPLES)
    for epoch in epochs:
        assert sorted(epoch) == list(range(100, 200))
    assert len({tuple(epoch) for epoch in epochs}) == 4


def test_another_seed_gives_another_order(records):
    assert (numbers(records, 5) != numbers(records, 5, seed=4)).any()


def test_starting_at_any_step_gives_what_an_uninterrupted_run_would(records):
    whole = numbers(records, 30)
    for step in range(30):
        np.testing.assert_array_equal(
            numbers(records, 2, first_step=step)[:1], whole[step : step + 1]
        )


def test_a_late_step_is_found_at_once(records):
    started = time.perf_counter()
    numbers(records, 1, first_step=1_000_000_000)
    assert time.perf_counter() - started < 5


def test_workers_cut_the_same_global_batches(records):
    whole = numbers(records, 6)
    for workers in (2, 4):
        parts = [
            numbers(records, 6, context=tf.distribute.InputContext(workers, worker, workers))
            for worker in range(workers)
        ]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


def test_replicas_of_one_worker_take_turns(records):
    whole = numbers(records, 3)
    context = tf.distribute.InputContext(num_replicas_in_sync=2)
    np.testing.assert_array_equal(numbers(records, 6, context=context).reshape(3, 8), whole)


def test_a_batch_larger_than_the_corpus_spans_epochs(records):
    batch = numbers(records, 1, batch_size=250)
    assert sorted(batch[0][:100]) == list(range(100, 200))


def test_rows_are_padded_with_zeros_in_every_column(records):
    folder, split = records
    batch = next(iter(training_batches(folder, split, max_length=6, batch_size=4, seed=1)))
    assert batch.input_ids.shape == (4, 6)
    for ids, segments, units in zip(*(column.numpy() for column in batch[:3]), strict=True):
        length = 3 if ids[1] % 2 else 4
        assert not ids[length:].any()
        assert not segments[length:].any()
        assert not units[length:].any()
        assert list(segments[:length]) == ([0, 0, 0] if length == 3 else [0, 0, 1, 0])
        assert list(units[:length]) == ([0, 1, 0] if length == 3 else [0, 1, 2, 0])


def test_packed_rows_come_with_their_sequence_ids(tmp_path, one_a_row):
    def one(number, size):
        units = np.r_[0, 1 : size - 1, 0]
        return np.r_[2, np.full(size - 2, number), 3], np.zeros(size, int), units

    writer = SplitWriter(tmp_path, "train")
    writer.add(serialize_rows(pack(one_a_row([one(n, 3 + n % 2) for n in range(10, 20)]), 8), 5))
    split = writer.finish(100, seed=1)
    assert (split.sequences, split.examples) == (10, 5)
    knobs = {"max_length": 8, "batch_size": 2}
    batch = next(iter(training_batches(tmp_path, split, seed=1, **knobs)))
    filled = list(evaluation_batches(tmp_path, split, max_batches=9, **knobs))
    for found in (batch, *filled):
        ids, sequences = found.input_ids.numpy(), found.sequence_ids.numpy()
        np.testing.assert_array_equal(sequences > 0, ids > 0)
        np.testing.assert_array_equal(sequences[:, 1:] > sequences[:, :-1], ids[:, 1:] == 2)
    assert sum(batch.sequence_ids.numpy().max(axis=1).sum() for batch in filled) == 10


def test_evaluation_gives_every_example_once_and_fills_the_last_batch_with_padding(records):
    folder, split = records
    batches = list(evaluation_batches(folder, split, max_length=6, batch_size=16, max_batches=1000))
    assert {batch.input_ids.shape[0] for batch in batches} == {16}
    ids = np.concatenate([batch.input_ids.numpy() for batch in batches])
    assert sorted(ids[:EXAMPLES, 1]) == list(range(100, 200))
    assert not ids[EXAMPLES:].any()


def test_evaluation_stops_at_its_limit(records):
    folder, split = records
    batches = evaluation_batches(folder, split, max_length=6, batch_size=16, max_batches=2)
    assert len(list(batches)) == 2


def test_an_empty_split_is_refused(tmp_path):
    split = SplitWriter(tmp_path, "train").finish(10, 1)
    with pytest.raises(ValueError, match="hold no example"):
        training_batches(tmp_path, split, max_length=8, batch_size=2, seed=1)
