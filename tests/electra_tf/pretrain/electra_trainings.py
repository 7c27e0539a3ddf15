"""Trains a tiny ELECTRA in several ways on two logical devices, and keeps the weights.

A process of its own: logical devices must be set before TensorFlow starts. `test_replicas.py` runs
it with a folder that holds `run.json` and with names of trainings, and judges what it leaves there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from electra_tf.batches import TokenBatch
from electra_tf.config import PretrainConfig
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.pretrain.objectives.electra import Electra
from electra_tf.training.loss_scale import LossScale
from electra_tf.training.optimizer import Optimizer
from electra_tf.training.schedule import make_schedule
from electra_tf.training.trainer import Evaluator, Trainer

VOCABULARY = VocabularyFacts(file="", size=40, sha256="", unk_id=1, cls_id=2, sep_id=3, mask_id=4)
STEPS = 4
DROPOUT = {"hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.1}


def make_rows(rows: int, length: int) -> list[np.ndarray]:
    """Columns [steps, rows, length]; the second half of a batch is much longer than the first."""
    rng = np.random.default_rng(0)
    ids = np.zeros((STEPS, rows, length), np.int32)
    units = np.zeros_like(ids)
    for step in range(STEPS):
        for row in range(rows):
            tokens = rng.integers(2, 5) if row < rows // 2 else rng.integers(9, length - 1)
            ids[step, row, : tokens + 2] = [2, *rng.integers(5, 40, tokens), 3]
            units[step, row, 1 : tokens + 1] = 1 + np.arange(tokens) // 2
    return [ids, np.zeros_like(ids), units]


def pack_rows(columns: list[np.ndarray]) -> list[np.ndarray]:
    """A short row of the first half in front of each long one of the second, which is cut."""
    ids, _, units = columns
    half = ids.shape[1] // 2
    packed = [np.zeros_like(ids) for _ in range(4)]
    for step in range(STEPS):
        for row in range(ids.shape[1]):
            short, long = ids[step, row % half], ids[step, half + row % half]
            size = np.count_nonzero(short)
            rest = min(np.count_nonzero(long), ids.shape[2] - size)
            parts = (short[:size], np.append(long[: rest - 1], 3))
            packed[0][step, row, : size + rest] = np.concatenate(parts)
            own, other = (
                units[step, row % half, :size],
                units[step, half + row % half, :rest].copy(),
            )
            other[-1] = 0
            packed[2][step, row, : size + rest] = np.concatenate(
                [own, other + own.max() * (other > 0)]
            )
            packed[3][step, row, : size + rest] = np.repeat([1, 2], [size, rest])
    return packed


def quietly(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Without the tuning thread, which can hold up the end of an iterator for minutes."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


class Run:
    """Everything of one training."""

    def __init__(
        self, config: PretrainConfig, strategy: tf.distribute.Strategy, packed: bool = False
    ):
        training = config.training
        columns = make_rows(training.batch_size, config.data.max_length)
        columns = pack_rows(columns) if packed else columns

        def own_replicas(context):
            return context.num_replicas_in_sync // context.num_input_pipelines

        def make_dataset(context, first_step):
            rows = training.batch_size // context.num_replicas_in_sync
            mine = own_replicas(context)
            first = context.input_pipeline_id * mine
            parts = [
                c[first_step:].reshape(STEPS - first_step, -1, rows, c.shape[-1]) for c in columns
            ]
            parts = [p[:, first : first + mine].reshape(-1, *p.shape[2:]) for p in parts]
            return quietly(tf.data.Dataset.from_tensor_slices(tuple(parts)).map(TokenBatch))

        with strategy.scope():
            self.objective = Electra(config, VOCABULARY)
            optimizer = Optimizer(config.optimizer, self.objective.trained_weights)
            self.trainer = Trainer(
                strategy,
                self.objective,
                optimizer,
                make_schedule(config.schedule, config.optimizer.learning_rate, 10),
                make_dataset,
                batch_size=training.batch_size,
                accumulation_steps=training.accumulation_steps,
                clip_norm=config.optimizer.clip_norm,
                seed=config.seed,
                xla=training.xla,
                max_skipped_steps=0,
                loss_scale=LossScale(2.0**10) if training.precision == "float16" else None,
            )
            self.evaluator = Evaluator(
                strategy,
                self.objective,
                lambda context: make_dataset(context, 0).take(own_replicas(context)),
                batch_size=training.batch_size,
                seed=3,
            )
            self.checkpoint = tf.train.Checkpoint(
                weights={v.path: v.value for v in self.objective.trained_weights},
                optimizer=optimizer,
                **self.trainer.state,
            )
        self.strategy = strategy

    def train(self, steps: int) -> dict[str, float]:
        return self.trainer.train(tf.constant(steps))

    def keep(self, path: Path, reports: dict[str, float]) -> None:
        """Writes the weights of every replica, and the numbers."""
        arrays = {}
        for variable in self.objective.trained_weights:
            copies = self.strategy.experimental_local_results(variable.value)
            for replica, copy in enumerate(copies):
                arrays[f"{replica}|{variable.path}"] = copy.numpy()
        numbers = {name: value for name, value in reports.items() if name != "waiting_rate"}
        np.savez(path, **arrays, **{f"report|{name}": value for name, value in numbers.items()})


def change(config: PretrainConfig, **sections: dict) -> PretrainConfig:
    tree = config.model_dump()
    for name, values in sections.items():
        tree[name] |= values
    return PretrainConfig.model_validate(tree)


def main(folder: Path, names: list[str]) -> None:
    base = PretrainConfig.model_validate_json((folder / "run.json").read_text())
    in_2_xla = {"accumulation_steps": 2, "xla": True}
    noisy = change(base, discriminator=DROPOUT, generator=DROPOUT)
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for name, config, strategy in (
        ("one", base, one),
        ("one in 4", change(base, training={"accumulation_steps": 4}), one),
        ("two", base, two),
        ("two in 2, xla", change(base, training=in_2_xla), two),
        ("two in 2, xla, float16", change(base, training=in_2_xla | {"precision": "float16"}), two),
        ("noisy", noisy, one),
        ("noisy, xla", change(noisy, training={"xla": True}), one),
        ("packed", base, one),
        (
            "packed, two in 2, xla",
            change(base, training={"accumulation_steps": 2, "xla": True}),
            two,
        ),
    ):
        if name in names:
            run = Run(config, strategy, packed="packed" in name)
            reports = run.train(3)
            evaluation = run.evaluator.evaluate()
            reports |= {f"held out {key}": value for key, value in evaluation.items()}
            run.keep(folder / f"{name}.npz", reports)

    if "resumed" in names:
        whole = Run(noisy, two)
        whole.train(2)
        path = whole.checkpoint.write(str(folder / "ckpt"))
        whole.keep(folder / "whole.npz", whole.train(2))
        resumed = Run(noisy, two)
        resumed.checkpoint.read(path).assert_consumed()
        resumed.keep(folder / "resumed.npz", resumed.train(2))


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    main(Path(sys.argv[1]), sys.argv[2:])
