"""The learning rate as a function of the update step, counted from 0."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from electra_tf.config import (
    ConstantSchedule,
    ReferenceSchedule,
    ScheduleConfig,
    WarmupStableDecaySchedule,
)

Schedule = Callable[[tf.Tensor], tf.Tensor]


def make_schedule(config: ScheduleConfig, learning_rate: float, train_steps: int) -> Schedule:
    """The schedule that `config.name` asks for. Its formula stands at its config class.

    Args:
      config: steps of its phases.
      learning_rate: the peak rate.
      train_steps: updates of the whole run, where a decay ends.

    Returns:
      A function from an integer step to a float32 rate.
    """
    shape = _SHAPES[type(config)]
    return lambda step: shape(config, learning_rate, tf.cast(step, tf.float32), train_steps)


def _reference(
    config: ReferenceSchedule, learning_rate: float, t: tf.Tensor, train_steps: int
) -> tf.Tensor:
    remaining = tf.maximum(0.0, 1.0 - t / train_steps)
    return learning_rate * remaining**config.decay_power * _warm(t, config.warmup_steps)


def _warmup_stable_decay(
    config: WarmupStableDecaySchedule, learning_rate: float, t: tf.Tensor, train_steps: int
) -> tf.Tensor:
    passed = (t - (train_steps - config.decay_steps)) / config.decay_steps
    left = 1.0 - tf.sqrt(tf.clip_by_value(passed, 0.0, 1.0))
    return learning_rate * left * _warm(t, config.warmup_steps)


def _constant(
    config: ConstantSchedule, learning_rate: float, t: tf.Tensor, train_steps: int
) -> tf.Tensor:
    return learning_rate * _warm(t, config.warmup_steps)


_SHAPES = {
    ReferenceSchedule: _reference,
    WarmupStableDecaySchedule: _warmup_stable_decay,
    ConstantSchedule: _constant,
}


def _warm(t: tf.Tensor, warmup_steps: int) -> tf.Tensor:
    return tf.minimum(1.0, t / warmup_steps) if warmup_steps else tf.ones_like(t)
