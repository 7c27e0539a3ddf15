"""The learning rate: warm-up times decay, counted from 0."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.config import ConstantSchedule, ReferenceSchedule, WarmupStableDecaySchedule
from electra_tf.training.schedule import make_schedule


def rates_of(config, steps, learning_rate=0.1, train_steps=10):
    schedule = make_schedule(config, learning_rate, train_steps)
    found = [schedule(tf.constant(step, tf.int64)) for step in steps]
    assert {(rate.dtype, rate.shape.rank) for rate in found} == {(tf.float32, 0)}
    return [float(rate) for rate in found]


def rates(warmup_steps, decay_power, steps):
    config = ReferenceSchedule(name="reference", warmup_steps=warmup_steps, decay_power=decay_power)
    return rates_of(config, steps)


def test_warm_up_multiplies_the_decay():
    # (1 - t/10) · min(1, t/4) · 0.1; the peak, at t = 4, is 0.06 and not 0.1.
    expected = [0.0, 0.9 / 4, 0.8 / 2, 0.7 * 3 / 4, 0.6, 0.5, 0.1, 0.0]
    found = rates(4, 1.0, [0, 1, 2, 3, 4, 5, 9, 10])
    np.testing.assert_allclose(found, 0.1 * np.array(expected), rtol=1e-6)


def test_without_warm_up_the_first_rate_is_the_highest():
    np.testing.assert_allclose(rates(0, 1.0, [0, 1, 10]), [0.1, 0.09, 0.0], rtol=1e-6)


def test_power_0_keeps_the_rate_and_power_2_squares_the_rest():
    np.testing.assert_allclose(rates(0, 0.0, [0, 5, 9]), [0.1] * 3, rtol=1e-6)
    np.testing.assert_allclose(rates(0, 2.0, [5, 9]), [0.025, 0.001], rtol=1e-5)


@pytest.mark.parametrize("decay_power", [1.0, 2.0])
def test_past_the_end_the_rate_stays_0(decay_power):
    assert rates(2, decay_power, [10, 11, 1000]) == [0.0] * 3


def test_rates_are_exact_after_a_million_steps():
    config = ReferenceSchedule(name="reference", warmup_steps=10_000, decay_power=1.0)
    rate = make_schedule(config, 2e-4, 1_000_000)(tf.constant(999_999, tf.int64))
    np.testing.assert_allclose(rate, 2e-10, rtol=0.05)


def test_the_rate_warms_up_stays_and_falls_with_the_root_of_the_share_of_the_decay():
    config = WarmupStableDecaySchedule(name="warmup_stable_decay", warmup_steps=4, decay_steps=4)
    # Of 12 steps the last 4 decay: shares 0, 1/4, 1/2, 3/4 have passed, whose roots are
    # 0, 0.5, 0.7071 and 0.8660. Unlike the reference it reaches the peak.
    expected = [0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 0.5, 0.292893, 0.133975, 0, 0]
    found = rates_of(config, range(14), train_steps=12)
    np.testing.assert_allclose(found, 0.1 * np.array(expected), rtol=1e-5)


def test_a_run_made_longer_in_its_constant_phase_keeps_the_rates_it_had():
    config = WarmupStableDecaySchedule(name="warmup_stable_decay", warmup_steps=2, decay_steps=3)
    short, long = (rates_of(config, range(10), train_steps=n) for n in (10, 20))
    assert short[:8] == long[:8]
    assert short[9] < long[9] == pytest.approx(0.1)


def test_warm_up_and_decay_may_fill_the_run_and_warm_up_may_be_left_out():
    full = WarmupStableDecaySchedule(name="warmup_stable_decay", warmup_steps=2, decay_steps=2)
    expected = [0, 0.05, 0.1, 0.0292893, 0]
    np.testing.assert_allclose(rates_of(full, range(5), train_steps=4), expected, rtol=1e-5)
    bare = WarmupStableDecaySchedule(name="warmup_stable_decay", warmup_steps=0, decay_steps=1)
    np.testing.assert_allclose(rates_of(bare, [0, 3, 4], train_steps=4), [0.1, 0.1, 0], rtol=1e-6)


def test_a_constant_rate_warms_up_and_stays_past_the_end_of_the_run():
    config = ConstantSchedule(name="constant", warmup_steps=4)
    np.testing.assert_allclose(
        rates_of(config, [0, 1, 3, 4, 9, 10, 1000]),
        [0, 0.025, 0.075, 0.1, 0.1, 0.1, 0.1],
        rtol=1e-6,
    )
    bare = ConstantSchedule(name="constant", warmup_steps=0)
    np.testing.assert_allclose(rates_of(bare, [0, 1000]), [0.1, 0.1], rtol=1e-6)
