"""One of two workers: trains one number, reads records, and sees the other worker go.

`test_workers.py` starts it twice, with TF_CONFIG set and a folder that holds `records`, and judges
what each prints.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from record_readings import Reading
from toy_trainings import build, copies, state

from electra_tf.training.cluster import TF_CONFIG, find_cluster
from electra_tf.training.strategy import make_strategy
from electra_tf.training.workers import Workers, peers_may_stop


def say(text: str) -> None:
    print(text, file=sys.stderr)


def agree(workers: Workers, index: int) -> dict:
    """What the workers tell each other."""
    seen = {
        "gathered": workers.gather(10 + index),
        "from the chief": workers.from_chief(10 + index),
        "any of none": workers.any(False),
        "any of one": workers.any(index == 1),
    }
    workers.check_same("config", "the same text")
    try:
        workers.check_same("config", f"text {index}")
    except ValueError as error:
        seen["another config"] = str(error)
    return seen


def train(strategy: tf.distribute.Strategy) -> dict:
    """As `toy_trainings.py` does on two logical devices."""
    seen = {}
    toy, trainer = build(strategy, [[10, -9], [30, -9]], [[1, 0], [1, 0]], clip_norm=1.0)
    seen["clipped"] = [copies(strategy, toy)]
    for _ in range(2):
        trainer.train(tf.constant(1))
        seen["clipped"].append(copies(strategy, toy))

    toy, trainer = build(strategy, [[3, 6, 6, 0]], [[1, 1, 1, 0]])
    trainer.train(tf.constant(1))
    seen["global counts"] = copies(strategy, toy)

    for xla in (False, True):
        rows = [[1, 1], [1, np.nan], [np.nan, 1], [1, 1]]
        toy, trainer = build(strategy, rows, xla=xla)
        seen[f"nan, xla {xla}"] = [
            state(strategy, toy, trainer, trainer.train(tf.constant(1))) for _ in rows
        ]

    values = np.random.default_rng(0).normal(size=(2, 8))
    toy, trainer = build(strategy, values, values > -0.5, accumulation_steps=2)
    reports = [trainer.train(tf.constant(1)) for _ in range(2)]
    seen["two in 2"] = {
        "weights": copies(strategy, toy),
        "noise": [report["noise"] for report in reports],
    }
    return seen


def read(strategy: tf.distribute.Strategy, workers: Workers, folder: Path) -> dict:
    """Which examples are fed, before and after a restart from the chief's checkpoint."""
    reading = Reading(strategy, folder / "records")
    fed = reading.steps(3)
    with workers.own_folder(folder / "checkpoints") as own:
        path = tf.train.CheckpointManager(reading.checkpoint, str(own), max_to_keep=2).save(3)
        is_saved = Path(f"{path}.index").exists()
    workers.wait_for_all()
    resumed = Reading(strategy, folder / "records")
    newest = tf.train.latest_checkpoint(str(folder / "checkpoints"))
    resumed.checkpoint.restore(newest).assert_consumed()
    return {
        "fed": fed,
        "fed after a restart": resumed.steps(2),
        "is saved": is_saved,
        "own folder is left": own.exists(),
    }


def main(folder: Path) -> None:
    cluster = find_cluster("multi_worker", os.environ[TF_CONFIG])
    strategy = make_strategy("multi_worker", cluster, say)
    workers = Workers(strategy, cluster)
    seen = {
        "sigterm ends the process": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
        "replicas": strategy.num_replicas_in_sync,
        **agree(workers, cluster.index),
        **train(strategy),
        **read(strategy, workers, folder),
    }
    workers.wait_for_all()
    if cluster.index == 1:
        print(json.dumps(seen), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    started = time.monotonic()
    try:
        with peers_may_stop(cluster):
            workers.wait_for_all()
    except ValueError as error:
        seen["lost"] = str(error)
    seen["seconds until lost"] = time.monotonic() - started
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
