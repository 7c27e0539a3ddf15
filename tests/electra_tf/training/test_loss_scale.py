"""The loss scale of float16, shown with one weight whose gradient stands in the rows."""

from __future__ import annotations

import pytest
import tensorflow as tf

from electra_tf.training.loss_scale import LossScale


@pytest.fixture(scope="module")
def seen(run_script):
    """What `float16_trainings.py` saw on two logical devices."""
    return run_script("float16_trainings.py")


def column(steps, name):
    return [step[name] for step in steps]


@pytest.mark.parametrize("culprit", ["first", "second"])
@pytest.mark.parametrize("kind", ["xla False, in 1", "xla True, in 2"])
def test_an_overflow_on_one_replica_is_skipped_by_both_and_halves_the_scale(seen, culprit, kind):
    steps = seen[f"{culprit}, {kind}"]
    # 3 · 2^15 = 98304 is no float16, 3 · 2^14 = 49152 is one. The gradient is 0.5 + 0.5 + 3 = 4.
    assert column(steps, "weights") == [[0, 0], [-4, -4], [-8, -8]]
    assert column(steps, "scales") == [[2**14, 2**14]] * 3
    assert column(steps, "reported_scale") == [2**14] * 3
    assert column(steps, "good_steps") == [[0, 0], [1, 1], [2, 2]]
    assert column(steps, "skipped_steps") == [1, 0, 0]
    assert column(steps, "skipped_in_a_row") == [0, 0, 0]


def test_a_scaled_run_has_the_weights_of_an_unscaled_one_to_the_bit(seen):
    unscaled = column(seen["scaled by None"], "weights")
    assert len({weights[0] for weights in unscaled}) == 3
    assert column(seen["scaled by 1.0"], "weights") == unscaled
    assert column(seen["scaled by 1024.0"], "weights") == unscaled
    assert seen["scaled by None"][0]["reported_scale"] is None


def test_gradients_that_vanish_in_float16_survive_scaled(seen):
    # The smallest float16 is 6e-8.
    assert seen["tiny, scaled by None"][0]["weights"] == [0.0]
    assert seen["tiny, scaled by 1.0"][0]["weights"] == [0.0]
    (weight,) = seen["tiny, scaled by 1024.0"][0]["weights"]
    assert weight == pytest.approx(-1e-8, rel=1e-2)


def test_the_scale_doubles_after_good_updates_in_a_row(seen):
    assert column(seen["growth"], "scales") == [[4, 4], [8, 8], [8, 8], [16, 16]]
    assert column(seen["growth, interrupted"], "scales") == [[4, 4], [2, 2], [2, 2], [4, 4]]
    assert column(seen["growth, at the end"], "scales") == [[2**24, 2**24]] * 2


def test_only_skipped_steps_at_the_lowest_scale_count_towards_the_limit(seen):
    steps = seen["before the limit"]
    assert column(steps, "scales") == [[2, 2], [1, 1], [1, 1]]
    assert column(steps, "skipped_steps") == [1, 1, 1]
    assert column(steps, "skipped_in_a_row") == [0, 0, 1]
    assert "steps 3 to 4 " in seen["limit"]
    assert "training.precision=bfloat16" in seen["limit"]


def test_a_resumed_run_goes_on_with_the_scale_and_the_count_it_had(seen):
    assert seen["resumed"] == seen["whole"]
    # Doubled after two updates, halved by the bad fourth row, doubled again after two more.
    assert column(seen["whole"], "scales") == [[2**15] * 2, [2**15] * 2, [2**16] * 2]
    assert column(seen["whole"], "good_steps") == [[0, 0], [1, 1], [0, 0]]


def test_dividing_by_the_scale_is_exact():
    gradients = [tf.constant([1.1e-7, -3.3, 7e30]), tf.constant(0.1)]
    for exponent in (0, 1, 15, 24):
        scale = LossScale(2.0**exponent)
        scaled = [gradient * scale.scale for gradient in gradients]
        for ours, theirs in zip(scale.unscale(scaled), gradients, strict=True):
            assert ours.numpy().tolist() == theirs.numpy().tolist()
