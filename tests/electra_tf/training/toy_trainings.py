"""Trains one number on two logical devices, and prints what became of it.

A process of its own: logical devices must be set before TensorFlow starts. `test_trainer.py` runs
it and judges what it prints.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from electra_tf.config import OptimizerConfig
from electra_tf.training.optimizer import Optimizer
from electra_tf.training.trainer import NonFiniteGradients, Trainer

SEED = 5


class Toy(tf.Module):
    """loss = weight · sum(values) / sum(tokens); its gradient can be seen in the rows."""

    def __init__(self, rows: int):
        super().__init__()
        self.sum_shapes = {
            "real_tokens": (),
            "noise": (rows,),
            "first_row": (rows,),
            "first_row_of_part": (rows,),
        }
        self.weight = keras.Variable(np.zeros(1, np.float32), name="weight")
        self.trained_weights = [self.weight]

    def prepare(self, batch, key):
        values, tokens, places = batch
        first_rows = tf.fill(tf.shape(places), key.first_row)
        return (values, tokens, places, first_rows), {"real_tokens": tf.reduce_sum(tokens)}

    def loss(self, prepared, counts, key, training):
        values, tokens, places, first_rows = prepared
        rows = self.sum_shapes["noise"][0]
        seed = tf.random.experimental.stateless_fold_in(key.seed, key.first_row, alg="philox")
        noise = tf.random.stateless_uniform(values.shape, seed, alg="philox")
        first_rows_of_part = tf.fill(tf.shape(places), tf.cast(key.first_row, tf.float32))
        sums = {
            "real_tokens": tf.reduce_sum(tokens),
            "noise": tf.math.unsorted_segment_sum(noise, places, rows),
            "first_row": tf.math.unsorted_segment_sum(
                tf.cast(first_rows, tf.float32), places, rows
            ),
            "first_row_of_part": tf.math.unsorted_segment_sum(first_rows_of_part, places, rows),
        }
        return self.read_weight() * tf.reduce_sum(values) / counts["real_tokens"], sums

    def read_weight(self):
        return tf.convert_to_tensor(self.weight)[0]

    def metrics(self, sums):
        return {name: value.tolist() for name, value in sums.items()}


class Descent:
    """weight -= learning_rate · gradient."""

    def __init__(self, toy: Toy):
        self._toy = toy

    def apply(self, gradients, learning_rate, update_step):
        self._toy.weight.value.assign_sub(learning_rate * gradients[0])


def make_optimizer(name: str) -> Callable[[Toy], Optimizer]:
    config = OptimizerConfig(
        name=name,
        learning_rate=1.0,
        weight_decay_rate=0.1,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        clip_norm=1.0,
    )
    return lambda toy: Optimizer(config, toy.trained_weights, {"weight": 0.5})


class Uncounted(Toy):
    """loss = weight · sum(values), normalised by nothing."""

    def prepare(self, batch, key):
        return super().prepare(batch, key)[0], {}

    def loss(self, prepared, counts, key, training):
        return super().loss(prepared, {"real_tokens": tf.constant(1.0)}, key, training)


class Slow(Toy):
    """Its steps take a while."""

    def prepare(self, batch, key):
        with tf.control_dependencies([pause()]):
            return super().prepare([tf.identity(column) for column in batch], key)


def pause() -> tf.Operation:
    return tf.py_function(lambda: time.sleep(0.1), [], [])


def build(
    strategy,
    values,
    tokens=None,
    make_toy=Toy,
    make_optimizer=Descent,
    input_pauses=False,
    **settings,
) -> tuple[Toy, Trainer]:
    """values, tokens: [steps, rows]."""
    values = np.array(values, np.float32)
    tokens = np.ones_like(values) if tokens is None else np.array(tokens, np.float32)
    steps, rows = values.shape
    columns = (values, tokens, np.tile(np.arange(rows, dtype=np.int32), (steps, 1)))

    def make_dataset(context, first_step):
        shape = (-1, context.num_input_pipelines, rows // context.num_input_pipelines)
        own = rows // context.num_replicas_in_sync
        parts = [
            column[first_step:].reshape(shape)[:, context.input_pipeline_id].reshape(-1, own)
            for column in columns
        ]
        # Its tuning thread can hold up the end of an iterator for minutes.
        options = tf.data.Options()
        options.autotune.enabled = False
        # Endless, as training is: several workers see no fixed shapes where an end is possible.
        dataset = tf.data.Dataset.from_tensor_slices(tuple(parts)).repeat().with_options(options)
        return dataset.map(late) if input_pauses else dataset.prefetch(2)

    def late(*columns):
        with tf.control_dependencies([pause()]):
            return tuple(tf.identity(column) for column in columns)

    defaults = {"accumulation_steps": 1, "clip_norm": 1e9, "xla": False, "max_skipped_steps": 5}
    with strategy.scope():
        toy = make_toy(rows)
        trainer = Trainer(
            strategy,
            toy,
            make_optimizer(toy),
            lambda step: tf.constant(1.0),
            make_dataset,
            batch_size=rows,
            seed=SEED,
            **(defaults | settings),
        )
    return toy, trainer


def copies(strategy, toy) -> list[float]:
    """The weight on each replica."""
    values = strategy.experimental_local_results(toy.weight.value)
    return [float(value.numpy()[0]) for value in values]


def state(strategy, toy, trainer, metrics) -> dict:
    return {
        "weights": copies(strategy, toy),
        "data_step": int(trainer.data_step.numpy()),
        "update_step": int(trainer.update_step.numpy()),
        "update_steps": [int(v) for v in strategy.experimental_local_results(trainer.update_step)],
        "skipped_in_a_row": int(trainer.skipped_in_a_row.numpy()),
        "skipped_steps": metrics["skipped_steps"],
        "tokens": metrics["tokens"],
        "real_tokens": metrics["real_tokens"],
    }


def main() -> None:
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    seen = {}

    # tokens 1 and 0: divided by one token in all.
    toy, trainer = build(two, [[10, -9], [30, -9]], [[1, 0], [1, 0]], clip_norm=1.0)
    seen["clipped"] = [copies(two, toy)]
    for _ in range(2):
        trainer.train(tf.constant(1))
        seen["clipped"].append(copies(two, toy))

    # 3 + 6 + 6 over three tokens; the mean of the replicas' means would be 5.25.
    toy, trainer = build(two, [[3, 6, 6, 0]], [[1, 1, 1, 0]])
    trainer.train(tf.constant(1))
    seen["global_counts"] = copies(two, toy)

    for name, culprit in (("nan", np.nan), ("inf", np.inf)):
        for xla in (False, True):
            rows = [[1, 1], [1, culprit], [culprit, 1], [1, 1]]
            toy, trainer = build(two, rows, xla=xla)
            seen[f"{name}, xla {xla}"] = [
                state(two, toy, trainer, trainer.train(tf.constant(1))) for _ in rows
            ]

    toy, trainer = build(two, [[1, 1]] + [[1, np.nan]] * 9, max_skipped_steps=2)
    metrics = trainer.train(tf.constant(3))
    seen["before the limit"] = state(two, toy, trainer, metrics)
    try:
        trainer.train(tf.constant(6))
    except NonFiniteGradients as error:
        seen["limit"] = {
            "message": str(error),
            "first_step": error.first_step,
            "data_step": int(trainer.data_step.numpy()),
            "weights": copies(two, toy),
        }

    toy, trainer = build(two, [[1, 1], [1, np.nan], [1, 1]])
    seen["one of three"] = state(two, toy, trainer, trainer.train(tf.constant(3)))

    toy, trainer = build(two, [[1, 2], [3, 4]], make_toy=Uncounted)
    trainer.train(tf.constant(2))
    seen["without counts"] = copies(two, toy)

    stop = tf.Variable(True)
    toy, trainer = build(two, [[1, 1]] * 9, stop=stop)
    seen["stopped"] = state(two, toy, trainer, trainer.train(tf.constant(5)))
    stop.assign(False)
    seen["not stopped"] = state(two, toy, trainer, trainer.train(tf.constant(5)))

    for name, strategy in (("one", one), ("two", two)):
        for culprit, settings in (("input", {"input_pauses": True}), ("step", {"make_toy": Slow})):
            toy, trainer = build(strategy, [[1, 1]] * 9, **settings)
            trainer.train(tf.constant(1))
            report = trainer.train(tf.constant(6))
            seen[f"waiting, slow {culprit}, {name}"] = report["waiting_rate"]

    values = np.random.default_rng(0).normal(size=(2, 8))
    for name, strategy, parts in (
        ("one", one, 1),
        ("one in 4", one, 4),
        ("two", two, 1),
        ("two in 2", two, 2),
        ("two in 4", two, 4),
    ):
        toy, trainer = build(strategy, values, values > -0.5, accumulation_steps=parts)
        reports = [trainer.train(tf.constant(1)) for _ in range(2)]
        seen[name] = {
            "weights": copies(strategy, toy),
            "noise": [report["noise"] for report in reports],
            "first_row": reports[0]["first_row"],
            "first_row_of_part": reports[0]["first_row_of_part"],
            "tokens": [report["tokens"] for report in reports],
        }

    good, bad = [[2, -1], [0.5, 1]], [[1, np.nan]]
    for name in ("electra_adam", "adamw", "lamb"):
        for devices, strategy, rows in (
            ("one", one, good),
            ("two, one skipped", two, [good[0], *bad, good[1]]),
        ):
            toy, trainer = build(strategy, rows, make_optimizer=make_optimizer(name))
            trainer.train(tf.constant(len(rows)))
            seen[f"{name} on {devices}"] = copies(strategy, toy)
    print(json.dumps(seen))


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    main()
