"""Keeps gradients inside the range of float16: the loss is multiplied, its gradients are divided.

float16 ends at 65504 and knows nothing below 6e-8, where many gradients lie. The scale is a power
of two, so multiplying and dividing by it changes no bit of a number that stays in range. It is
halved where gradients, summed over all replicas, are not finite, and doubled after many that are.
Whether they are is decided on sums that every replica holds, so all replicas keep one scale.

Source: Micikevicius et al. 2018, arXiv 1710.03740, section 3.2; the numbers are those of Keras'
LossScaleOptimizer, which looks at the gradients of one replica before they are summed.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

MINIMUM, MAXIMUM = 1.0, 2.0**24


class LossScale(tf.Module):
    """The scale of a run, and how many updates it has been good for."""

    def __init__(self, initial: float = 2.0**15, growth_steps: int = 2000):
        """Creates both counters; call it inside a strategy's scope.

        Args:
          initial: the first scale, a power of two.
          growth_steps: updates without a skipped one after which it doubles.
        """
        super().__init__()
        self.scale = tf.Variable(initial, trainable=False, dtype=tf.float32, name="loss_scale")
        self.good_steps = tf.Variable(0, trainable=False, dtype=tf.int64, name="good_steps")
        self._growth_steps = growth_steps

    def unscale(self, gradients: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Gradients of the loss itself from those of the scaled one."""
        return [gradient / self.scale for gradient in gradients]

    def after_update(self) -> None:
        """The gradients were finite."""
        good_steps = self.good_steps + 1
        is_due = good_steps >= self._growth_steps
        grown = tf.minimum(2.0 * self.scale, MAXIMUM)
        self.scale.assign(tf.where(is_due, grown, self.scale))
        self.good_steps.assign(tf.where(is_due, tf.zeros_like(good_steps), good_steps))

    def after_skip(self) -> tf.Tensor:
        """The gradients were not finite.

        Returns:
          bool scalar, True where the scale was as low as it goes, so that it is not to blame.
        """
        was_lowest = self.scale <= MINIMUM
        self.scale.assign(tf.maximum(self.scale / 2.0, MINIMUM))
        self.good_steps.assign(tf.zeros_like(self.good_steps))
        return was_lowest
