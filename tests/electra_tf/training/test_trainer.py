"""The step that training rests on, shown with one weight whose gradient stands in the rows."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.training.trainer import Trainer, step_seed


@pytest.fixture(scope="module")
def seen(run_script):
    """What `toy_trainings.py` saw on two logical devices."""
    return run_script("toy_trainings.py")


def test_gradients_are_summed_then_clipped_then_applied_once(seen):
    # 10 - 9 = 1 and 30 - 9 = 21, clipped to 1. Clipped on each replica first it were 1 - 1 = 0.
    assert seen["clipped"] == [[0.0, 0.0], [-1.0, -1.0], [-2.0, -2.0]]


def test_losses_are_divided_by_the_tokens_of_all_replicas(seen):
    # (3 + 6 + 6) / 3 = 5; the mean of the replicas' means is (4.5 + 6) / 2.
    assert seen["global_counts"] == [-5.0, -5.0]


@pytest.mark.parametrize("culprit", ["nan", "inf"])
@pytest.mark.parametrize("xla", [False, True])
def test_a_gradient_not_finite_on_one_replica_is_skipped_by_both(seen, culprit, xla):
    steps = seen[f"{culprit}, xla {xla}"]
    # Finite, then bad on the second replica, then on the first, then finite again.
    assert [step["weights"] for step in steps] == [[-1, -1], [-1, -1], [-1, -1], [-2, -2]]
    assert [step["data_step"] for step in steps] == [1, 2, 3, 4]
    assert [step["update_steps"] for step in steps] == [[1, 1], [1, 1], [1, 1], [2, 2]]
    assert [step["skipped_in_a_row"] for step in steps] == [0, 1, 2, 0]
    assert [step["skipped_steps"] for step in steps] == [0, 1, 1, 0]


def test_the_run_stops_after_too_many_skipped_steps_and_says_which(seen):
    before = seen["before the limit"]
    assert (before["skipped_in_a_row"], before["skipped_steps"]) == (2, 2)
    assert seen["limit"]["weights"] == [-1.0, -1.0]
    assert seen["limit"]["data_step"] == 4  # not 9, the end of the inner loop
    assert seen["limit"]["first_step"] == 2
    message = seen["limit"]["message"]
    assert "steps 2 to 4 " in message
    assert "(learning rate 1)" in message
    assert "lower optimizer.learning_rate" in message


@pytest.mark.parametrize("name", ["electra_adam", "adamw", "lamb"])
def test_a_skipped_step_leaves_no_trace_in_moments_and_bias_correction(seen, name):
    """Two replicas that skip one step of three end where one device ends after the other two."""
    (expected,) = seen[f"{name} on one"]
    assert expected != 0.0
    assert seen[f"{name} on two, one skipped"] == pytest.approx([expected] * 2, rel=1e-6)


def test_a_skipped_step_is_left_out_of_the_sums_and_counted(seen):
    state = seen["one of three"]
    assert (state["real_tokens"], state["tokens"], state["skipped_steps"]) == (4.0, 4.0, 1)
    assert state["weights"] == [-2.0, -2.0]
    # Where no step is left there is no mean.
    assert np.isnan(seen["nan, xla False"][1]["real_tokens"])
    assert seen["nan, xla False"][1]["tokens"] == 0.0


def test_an_objective_may_count_nothing(seen):
    assert seen["without counts"] == [-10.0, -10.0]


def test_a_wish_to_stop_is_heard_after_the_step_under_way(seen):
    assert (seen["stopped"]["data_step"], seen["stopped"]["tokens"]) == (1, 2.0)
    assert (seen["not stopped"]["data_step"], seen["not stopped"]["tokens"]) == (6, 10.0)


@pytest.mark.parametrize("devices", ["one", "two"])
def test_the_waiting_rate_tells_slow_input_from_a_slow_step(seen, devices):
    assert seen[f"waiting, slow input, {devices}"] > 0.6
    assert seen[f"waiting, slow step, {devices}"] < 0.4  # a busy machine makes all wait


@pytest.mark.parametrize("run", ["one in 4", "two", "two in 2", "two in 4"])
def test_replicas_and_micro_batches_give_the_step_of_the_whole_batch(seen, run):
    np.testing.assert_allclose(seen[run]["weights"], seen["one"]["weights"][0], rtol=1e-6)
    assert seen[run]["tokens"] == seen["one"]["tokens"]


@pytest.mark.parametrize("run", ["one", "one in 4", "two", "two in 2", "two in 4"])
def test_no_two_rows_and_no_two_steps_share_their_chance(seen, run):
    noise = np.array(seen[run]["noise"])
    assert noise.shape == (2, 8)
    assert len(np.unique(noise)) == 16


def test_replicas_know_where_their_rows_stand_in_the_global_batch(seen):
    assert seen["one"]["first_row"] == [0] * 8
    assert seen["two"]["first_row"] == [0] * 4 + [4] * 4
    assert seen["two in 2"]["first_row"] == [0] * 4 + [4] * 4


def test_micro_batches_know_where_their_rows_stand_in_the_global_batch(seen):
    assert seen["one"]["first_row_of_part"] == [0] * 8
    assert seen["two"]["first_row_of_part"] == [0] * 4 + [4] * 4
    assert seen["one in 4"]["first_row_of_part"] == [0, 0, 2, 2, 4, 4, 6, 6]
    assert seen["two in 2"]["first_row_of_part"] == [0, 0, 2, 2, 4, 4, 6, 6]


@pytest.mark.parametrize(("batch_size", "parts"), [(6, 4), (3, 2), (8, 16)])
def test_a_batch_that_does_not_divide_is_refused(batch_size, parts):
    with pytest.raises(ValueError, match=rf"batch_size {batch_size} .* × .*_steps {parts}"):
        Trainer(
            tf.distribute.OneDeviceStrategy("CPU:0"),
            objective=None,
            optimizer=None,
            schedule=None,
            make_dataset=None,
            batch_size=batch_size,
            accumulation_steps=parts,
            clip_norm=1.0,
            seed=1,
            xla=False,
            max_skipped_steps=1,
        )


def test_every_step_has_a_seed_of_its_own():
    seeds = [
        tuple(step_seed(seed, tf.constant(step, tf.int64)).numpy())
        for seed, step in [(1, 0), (1, 1), (2, 0), (1, 2**31 - 1)]
    ]
    assert seeds == [(1, 0), (1, 1), (2, 0), (1, 2**31 - 1)]
