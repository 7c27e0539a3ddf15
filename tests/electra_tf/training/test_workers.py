"""Two workers in two processes: they agree, train as one, read as one, and notice a lost one."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.data.pipeline import training_batches
from electra_tf.data.records import SplitWriter
from electra_tf.training.cluster import Cluster
from electra_tf.training.workers import Workers, peers_may_stop

TWO = Cluster(("worker 0", "worker 1"), ("10.0.0.1:2222", "10.0.0.2:2222"), 0)
readings = runpy.run_path(str(Path(__file__).with_name("record_readings.py")))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Records of one hundred examples [CLS] n [SEP], n = 100 … 199, in four shards."""
    place = tmp_path_factory.mktemp("workers")
    folder = place / "records"
    folder.mkdir()
    writer = SplitWriter(folder, "train")
    for number in range(100):
        ids = np.array([2, 100 + number, 3])
        writer.add_document([(ids, np.zeros(3, int), np.array([0, 1, 0]))])
    (folder / "split.json").write_text(writer.finish(30, seed=1).model_dump_json())
    return place


@pytest.fixture(scope="module")
def seen(run_workers, place):
    """What `worker_trainings.py` saw in each of two processes; the second kills itself at last."""
    return run_workers("worker_trainings.py", str(place), last_code=-9)


def of_both(seen, *path):
    """The lists of both workers, joined: one value a replica."""
    values = []
    for worker in seen:
        for key in path:
            worker = worker[key]
        values.append(worker)
    return values[0] + values[1]


# --- agreeing ------------------------------------------------------------------------------------


def test_workers_know_what_the_others_know(seen):
    for worker in seen:
        assert worker["replicas"] == 2
        assert worker["gathered"] == [10, 11]
        assert worker["from the chief"] == 10
        assert (worker["any of none"], worker["any of one"]) == (False, True)


def test_a_worker_with_another_config_stops_all_of_them(seen):
    for worker in seen:
        assert worker["another config"].startswith("worker 1 (127.0.0.1:")
        assert "started with another config than the chief" in worker["another config"]


def test_sigterm_is_still_ours(seen):
    assert all(worker["sigterm ends the process"] for worker in seen)


def test_one_process_alone_agrees_with_itself():
    workers = Workers(tf.distribute.OneDeviceStrategy("CPU:0"), None)
    assert workers.is_chief
    assert workers.gather(7) == [7]
    assert (workers.any(True), workers.any(False)) == (True, False)
    workers.wait_for_all()
    workers.check_same("config", "anything")
    with workers.own_folder(Path("checkpoints")) as folder:
        assert folder == Path("checkpoints")


# --- training, as on two devices of one process --------------------------------------------------


def test_gradients_are_summed_over_workers_then_clipped_then_applied_once(seen):
    assert of_both(seen, "clipped") == [[0.0], [-1.0], [-2.0]] * 2


def test_losses_are_divided_by_the_tokens_of_all_workers(seen):
    assert of_both(seen, "global counts") == [-5.0, -5.0]


@pytest.mark.parametrize("xla", [False, True])
def test_a_gradient_not_finite_on_one_worker_is_skipped_by_both(seen, xla):
    for worker in seen:
        steps = worker[f"nan, xla {xla}"]
        # Finite, then bad on the second worker, then on the first, then finite again.
        assert [step["weights"] for step in steps] == [[-1], [-1], [-1], [-2]]
        assert [step["data_step"] for step in steps] == [1, 2, 3, 4]
        assert [step["update_step"] for step in steps] == [1, 1, 1, 2]
        assert [step["skipped_in_a_row"] for step in steps] == [0, 1, 2, 0]


def test_workers_with_micro_batches_take_the_step_of_the_whole_batch(seen):
    values = np.random.default_rng(0).normal(size=(2, 8))
    expected = -sum(row.sum() / (row > -0.5).sum() for row in values)
    np.testing.assert_allclose(of_both(seen, "two in 2", "weights"), [expected] * 2, rtol=1e-6)


def test_no_two_rows_of_any_worker_share_their_chance(seen):
    noise = np.array(seen[0]["two in 2"]["noise"])
    assert len(np.unique(noise)) == noise.size == 16
    assert seen[1]["two in 2"]["noise"] == noise.tolist()


# --- reading -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(place):
    """int [steps, rows]: the examples of every global batch, by the pipeline of one process."""
    split = readings["Split"].model_validate_json((place / "records/split.json").read_text())
    batches = training_batches(
        place / "records",
        split,
        max_length=readings["LENGTH"],
        batch_size=readings["BATCH_SIZE"],
        seed=readings["SEED"],
    )
    return [batch.input_ids.numpy()[:, 1].tolist() for batch in batches.take(5)]


def test_two_workers_feed_the_global_batches_of_one(seen, whole):
    for worker in seen:
        assert worker["fed"] == whole[:3]


def test_every_worker_saves_and_goes_on_from_the_folder_of_the_chief(seen, place, whole):
    assert all(worker["is saved"] for worker in seen)
    assert [worker["own folder is left"] for worker in seen] == [True, False]
    assert (place / "checkpoints/ckpt-3.index").exists()
    for worker in seen:
        assert worker["fed after a restart"] == whole[3:]


def test_a_run_of_two_workers_continued_with_one_feeds_the_same_global_batches(seen, place, whole):
    alone = readings["Reading"](tf.distribute.OneDeviceStrategy("CPU:0"), place / "records")
    newest = tf.train.latest_checkpoint(str(place / "checkpoints"))
    alone.checkpoint.restore(newest).assert_consumed()
    assert alone.steps(2) == whole[3:]


# --- losing one ----------------------------------------------------------------------------------


def test_a_worker_that_was_killed_is_named_by_the_other_within_a_minute(seen):
    assert seen[0]["lost"].startswith("worker 1 (127.0.0.1:")
    assert "stopped, or cannot be reached any more" in seen[0]["lost"]
    assert "Start the same command again on every worker" in seen[0]["lost"]
    assert seen[0]["seconds until lost"] < 60


@pytest.mark.parametrize(
    ("message", "culprit"),
    [
        ("Error reported from /job:worker/task:1: heartbeats", "worker 1 (10.0.0.2:2222)"),
        ("target /job:worker/replica:0/task:1 while calling", "worker 1 (10.0.0.2:2222)"),
        ("at /job:worker/replica:0/task:0: aborted", "another worker"),
        ("Connection reset by peer", "another worker"),
    ],
)
def test_the_worker_that_tensorflow_names_is_told_by_its_address(message, culprit):
    with (
        pytest.raises(ValueError, match="stopped, or cannot be reached") as error,
        peers_may_stop(TWO),
    ):
        raise tf.errors.UnavailableError(None, None, message)
    assert str(error.value).startswith(f"{culprit} stopped")


def test_one_process_alone_has_its_errors_as_they_are():
    with pytest.raises(tf.errors.UnavailableError), peers_may_stop(None):
        raise tf.errors.UnavailableError(None, None, "no")
