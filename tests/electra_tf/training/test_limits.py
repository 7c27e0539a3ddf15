"""Whichever limit comes first ends a run, and the time left is until that one."""

from __future__ import annotations

import pytest

from electra_tf.training.limits import Limits, Used

LIMITS = Limits(steps=100, tokens=5_000, minutes=2.0)


@pytest.mark.parametrize(
    ("used", "limit"),
    [
        (Used(99, 4_999, 119.9), None),
        (Used(100, 0, 0.0), "steps"),
        (Used(0, 5_000, 0.0), "tokens"),
        (Used(0, 0, 120.0), "minutes"),
        (Used(101, 6_000, 500.0), "steps"),
    ],
)
def test_the_first_limit_ends_the_run(used, limit):
    assert LIMITS.reached(used) == limit


def test_without_a_limit_of_tokens_or_minutes_the_steps_alone_count():
    assert Limits(100).reached(Used(99, 10**15, 10.0**9)) is None


def test_the_time_left_is_that_until_the_first_limit():
    # 10 steps and 500 tokens took 20 seconds of training, 30 of running.
    since, now = Used(50, 1_000, 60.0), Used(60, 1_500, 90.0)
    assert Limits(100).seconds_left(now, since, 20.0) == 80.0
    assert Limits(100, tokens=2_000).seconds_left(now, since, 20.0) == 20.0
    assert Limits(100, minutes=1.6).seconds_left(now, since, 20.0) == pytest.approx(6.0)
    assert Limits(100, tokens=1_500).seconds_left(now, since, 20.0) == 0.0
    assert Limits(100, minutes=1.0).seconds_left(now, since, 20.0) == 0.0


def test_where_no_token_was_trained_the_steps_tell_the_time_left():
    assert Limits(20, tokens=10).seconds_left(Used(10, 0, 5.0), Used(0, 0, 0.0), 5.0) == 5.0
