"""The learning rate: warm-up times decay, counted from 0."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.config import ScheduleConfig
from electra_tf.training.schedule import make_schedule


def rates(warmup_steps, decay_power, steps, learning_rate=0.1, train_steps=10):
    config = ScheduleConfig(warmup_steps=warmup_steps, decay_power=decay_power)
    schedule = make_schedule(config, learning_rate, train_steps)
    return [float(schedule(tf.constant(step, tf.int64))) for step in steps]


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


def test_rates_are_float32_scalars_and_exact_after_a_million_steps():
    config = ScheduleConfig(warmup_steps=10_000, decay_power=1.0)
    rate = make_schedule(config, 2e-4, 1_000_000)(tf.constant(999_999, tf.int64))
    assert rate.dtype == tf.float32
    assert rate.shape == ()
    np.testing.assert_allclose(rate, 2e-10, rtol=0.05)
