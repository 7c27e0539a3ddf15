"""Trains one number through float16 on two logical devices, and prints what became of it.

A process of its own, as `toy_trainings.py`, whose toy it takes. `test_loss_scale.py` judges.
"""

from __future__ import annotations

import json
import tempfile

import numpy as np
import tensorflow as tf
from toy_trainings import Toy, build, copies

from electra_tf.training.loss_scale import LossScale
from electra_tf.training.trainer import NonFiniteGradients


class HalfToy(Toy):
    """Its gradient passes through float16, where 65504 is the largest number."""

    def read_weight(self):
        return tf.cast(tf.cast(super().read_weight(), tf.float16), tf.float32)


class Run:
    """A toy under a strategy, scaled."""

    def __init__(self, strategy, values, tokens=None, initial=2.0**15, growth_steps=2000, **more):
        with strategy.scope():
            scale = None if initial is None else LossScale(initial, growth_steps)
        self.toy, self.trainer = build(
            strategy, values, tokens, make_toy=HalfToy, loss_scale=scale, **more
        )
        self.strategy = strategy
        self.checkpoint = tf.train.Checkpoint(weight=self.toy.weight.value, **self.trainer.state)

    def train(self, steps: int) -> list[dict]:
        return [self._state(self.trainer.train(tf.constant(1))) for _ in range(steps)]

    def _state(self, metrics) -> dict:
        results = self.strategy.experimental_local_results
        scale = self.trainer.loss_scale
        return {
            "weights": copies(self.strategy, self.toy),
            "reported_scale": metrics.get("loss_scale"),
            "scales": [float(v) for v in results(scale.scale)] if scale else None,
            "good_steps": [int(v) for v in results(scale.good_steps)] if scale else None,
            "skipped_in_a_row": int(self.trainer.skipped_in_a_row.numpy()),
            "skipped_steps": metrics["skipped_steps"],
        }


def main() -> None:
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    seen = {}

    # The second replica's share is 3, times 2^15 too much for float16; divided by one token in all.
    for culprit, row in (("second", [0.5, 0.5, 3, 0]), ("first", [0, 3, 0.5, 0.5])):
        for xla, parts in ((False, 1), (True, 2)):
            run = Run(two, [row] * 3, [[1, 0, 0, 0]] * 3, xla=xla, accumulation_steps=parts)
            seen[f"{culprit}, xla {xla}, in {parts}"] = run.train(3)

    values = np.random.default_rng(0).normal(size=(3, 8))
    for initial in (None, 1.0, 2.0**10):
        seen[f"scaled by {initial}"] = Run(two, values, initial=initial).train(3)
        seen[f"tiny, scaled by {initial}"] = Run(one, [[1e-8]], initial=initial).train(1)

    inf = np.inf
    seen["growth"] = Run(two, [[1, 1]] * 4, initial=4.0, growth_steps=2).train(4)
    rows = [[1, 1], [1, inf], [1, 1], [1, 1]]
    seen["growth, interrupted"] = Run(two, rows, initial=4.0, growth_steps=2).train(4)
    run = Run(two, [[1e-4, 1e-4]] * 2, initial=2.0**24, growth_steps=1)
    seen["growth, at the end"] = run.train(2)

    run = Run(two, [[1, inf]] * 9, initial=4.0, max_skipped_steps=1)
    seen["before the limit"] = run.train(3)
    try:
        run.train(1)
    except NonFiniteGradients as error:
        seen["limit"] = str(error)

    rows = np.where(np.arange(6)[:, None] == 3, inf, values[:1].repeat(6, axis=0))
    whole = Run(two, rows, growth_steps=2)
    whole.train(3)
    with tempfile.TemporaryDirectory() as folder:
        path = whole.checkpoint.write(f"{folder}/ckpt")
        resumed = Run(two, rows, initial=1.0, growth_steps=2)
        resumed.checkpoint.read(path).assert_consumed()
    seen["whole"], seen["resumed"] = whole.train(3), resumed.train(3)
    print(json.dumps(seen))


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    main()
