"""The learning rate as a function of the update step."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from electra_tf.config import ScheduleConfig

Schedule = Callable[[tf.Tensor], tf.Tensor]


def make_schedule(config: ScheduleConfig, learning_rate: float, train_steps: int) -> Schedule:
    """ELECTRA's schedule: warm-up *times* decay, so the peak is a little below `learning_rate`.

    Source: google-research/electra at 8a46635, `model/optimization.py`: t counts from 0, so the
    first update has rate 0.

    Args:
      config: warm-up steps and power of the decay.
      learning_rate: the peak rate.
      train_steps: where the decay ends.

    Returns:
      A function from an integer step to a float32 rate.
    """

    def rate(step: tf.Tensor) -> tf.Tensor:
        t = tf.cast(step, tf.float32)
        remaining = tf.maximum(0.0, 1.0 - t / train_steps)
        warm = tf.minimum(1.0, t / config.warmup_steps) if config.warmup_steps else 1.0
        return learning_rate * remaining**config.decay_power * warm

    return rate
