"""Kills a run again and again, and tells whether it ends as one that was never killed.

    python killed_runs.py FOLDER RECORDS PLAN CASE…

A case is written `float32,xla,two`; a plan `kill*3,write*3,term*1` says how often a run is killed
at a random moment, killed while a checkpoint is being written, or asked to stop by SIGTERM. Prints
what it saw as JSON.

Every start is a fork of this process, which has paid for importing TensorFlow and has computed
nothing with it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import tensorflow as tf
from safetensors.numpy import load_file

from electra_tf.config import PretrainConfig, load_config
from electra_tf.pretrain.run import pretrain
from electra_tf.training.report import read_events

ROOT = Path(__file__).resolve().parents[2]
TINY = {
    "data.max_length": 32,
    "discriminator.embedding_size": 16,
    "discriminator.hidden_size": 16,
    "discriminator.intermediate_size": 32,
    "discriminator.num_hidden_layers": 1,
    "discriminator.hidden_dropout_rate": 0.1,
    "discriminator.attention_dropout_rate": 0.1,
    "generator.embedding_size": 16,
    "generator.hidden_size": 8,
    "generator.num_attention_heads": 1,
    "generator.intermediate_size": 16,
    "generator.num_hidden_layers": 1,
    "schedule.warmup_steps": 2,
    "training.batch_size": 8,
    "training.report_every_steps": 1,
    "training.keep_checkpoints": 2,
    "evaluation.every_steps": 10,
    "evaluation.batch_size": 8,
    "evaluation.max_batches": 1,
}


class Silent:
    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def report(self, report, last_step):
        pass


def config_of(case: str, steps: int, checkpoint_every: int) -> PretrainConfig:
    precision, xla, devices = case.split(",")
    knobs = TINY | {
        "training.precision": precision,
        "training.xla": str(xla == "xla").lower(),
        "training.train_steps": steps,
        "training.checkpoint_every_steps": checkpoint_every,
        "training.strategy": {"one": "one_device", "two": "mirrored"}[devices],
    }
    sets = [f"{key}={value}" for key, value in knobs.items()]
    return load_config(PretrainConfig, ROOT / "configs/pretrain/demo.yaml", sets)


def start(config: PretrainConfig, records: Path, out: Path) -> int:
    """Forks a process that trains; its number."""
    child = os.fork()
    if child:
        return child
    try:
        if config.training.strategy == "mirrored":
            cpu = tf.config.list_physical_devices("CPU")[0]
            halves = [tf.config.LogicalDeviceConfiguration()] * 2
            tf.config.set_logical_device_configuration(cpu, halves)
        pretrain(config, records, out, Silent())
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def newest_step(out: Path) -> int:
    """Of the checkpoint that the list names last; 0 before the first."""
    try:
        line = (out / "checkpoints/checkpoint").read_text().split("\n")[0]
        return int(line.strip('"').rpartition("-")[2])
    except (OSError, ValueError):
        return 0


def is_writing(out: Path) -> bool:
    return any((out / "checkpoints").glob("ckpt-*_temp"))


def interrupt(how: str, child: int, out: Path, chance: random.Random) -> dict:
    """Waits for the moment, then stops the child."""
    goal = newest_step(out) + chance.randint(1, 3)
    deadline = time.monotonic() + 300
    while newest_step(out) < goal or (how == "write" and not is_writing(out)):
        assert time.monotonic() < deadline, f"no step {goal} after 300 seconds"
        time.sleep(0.0002)
    if how != "write":
        time.sleep(chance.uniform(0.0, 0.1))
    os.kill(child, signal.SIGTERM if how == "term" else signal.SIGKILL)
    was_writing = is_writing(out)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"how": how, "was_writing": was_writing, "status": status, "step": newest_step(out)}


def numbers(out: Path) -> list:
    """What the run reported, timings left out."""
    clocks = {"tokens_per_second", "seconds_left", "minutes", "waiting_rate"}
    events = read_events(out / "metrics.jsonl")
    return [
        {k: v for k, v in event.items() if k not in clocks}
        for event in events
        if event.get("name") != "slow input"
    ]


def differences(ours: Path, theirs: Path) -> list[str]:
    """Names of the weights that are not equal to the last bit."""
    different = []
    for network in ("encoder", "generator", "best/encoder", "best/generator"):
        a, b = (load_file(folder / network / "model.safetensors") for folder in (ours, theirs))
        assert a.keys() == b.keys()
        different += [f"{network}/{name}" for name in a if not np.array_equal(a[name], b[name])]
    return different


def play(case: str, records: Path, folder: Path, plan: list[str]) -> dict:
    whole, killed = folder / case / "whole", folder / case / "killed"
    steps = 4 * len(plan) + 8
    started = time.monotonic()
    assert os.waitpid(start(config_of(case, steps, steps), records, whole), 0)[1] == 0
    chance = random.Random(case)
    chance.shuffle(plan)
    config = config_of(case, steps, 1)
    interruptions = [interrupt(how, start(config, records, killed), killed, chance) for how in plan]
    assert os.waitpid(start(config, records, killed), 0)[1] == 0
    return {
        "interruptions": interruptions,
        "differences": differences(whole, killed),
        "same_numbers": numbers(whole) == numbers(killed),
        "seconds": time.monotonic() - started,
    }


def main(folder: str, records: str, plan: str, *cases: str) -> None:
    parts = [part.split("*") for part in plan.split(",")]
    kinds = [how for how, times in parts for _ in range(int(times))]
    seen = {case: play(case, Path(records), Path(folder), list(kinds)) for case in cases}
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
