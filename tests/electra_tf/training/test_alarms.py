"""Alarms sound once, fall silent when all is well, and sound again."""

from __future__ import annotations

import pytest

from electra_tf.training.alarms import Alarms, Check, not_finite, slow_input


def too_high(metrics):
    return f"{metrics['x']} is too high" if metrics["x"] > 1 else None


def test_an_alarm_sounds_once_until_it_clears():
    alarms = Alarms([Check("high", too_high)])
    found = [alarms.look(step, {"x": x}) for step, x in enumerate([0, 2, 3, 1, 4])]
    assert found == [{}, {"high": "2 is too high"}, {}, {}, {"high": "4 is too high"}]


def test_an_alarm_waits_for_its_first_step_and_stands_alone():
    alarms = Alarms([Check("late", too_high, first_step=2), Check("high", too_high)])
    found = [set(alarms.look(step, {"x": 5})) for step in range(4)]
    assert found == [{"high"}, set(), {"late"}, set()]


def test_skipped_steps_sound_an_alarm_that_says_what_to_try():
    assert not_finite({"skipped_steps": 0.0}) is None
    text = not_finite({"skipped_steps": 3.0})
    assert text.startswith("3 steps had a loss or gradient that is not finite")
    assert "lower optimizer.learning_rate" in text


@pytest.mark.parametrize(("scale", "sounds"), [(2.0**15, False), (2.0, False), (1.0, True)])
def test_in_float16_only_the_lowest_scale_sounds_an_alarm(scale, sounds):
    assert bool(not_finite({"skipped_steps": 1.0, "loss_scale": scale})) == sounds


def test_input_slower_than_the_step_tells_the_share_of_waiting():
    # A batch takes 1.25 seconds, its step 1: a fifth of the time is waiting.
    assert slow_input({"waiting_rate": 0.2}) is None
    assert slow_input({"waiting_rate": 0.35}).startswith("35% of the time goes on waiting")
