"""A run killed at any moment ends with the weights of one never killed, to the last bit."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from electra_tf.config import RecordsConfig, load_config
from electra_tf.workflows.records import build_records

ROOT = Path(__file__).resolve().parents[2]
MATRIX = product(("float32", "bfloat16"), ("plain", "xla"), ("one", "two"))


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    text = "\n\n".join(
        f"第{number}段。北京大学的学生们在图书馆里学习计算机科学!" for number in range(300)
    )
    (folder / "corpus.txt").write_text(text, encoding="utf-8")
    config = load_config(RecordsConfig, ROOT / "configs/corpus/default.yaml", ["max_length=32"])
    build_records(config, [str(folder / "corpus.txt")], folder / "records", lambda *_: None)
    return folder / "records"


@pytest.fixture
def play(records, tmp_path):
    """Runs `killed_runs.py`: what it saw in one case."""

    def played(plan: str, case: str) -> dict:
        script = Path(__file__).with_name("killed_runs.py")
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *(p for p in sys.path if p)])
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path), str(records), plan, case],
            capture_output=True,
            text=True,
            env=environment,
            timeout=3600,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])[case]

    return played


def check(seen: dict) -> None:
    assert seen["differences"] == []
    assert seen["same_numbers"]
    for stop in seen["interruptions"]:
        assert stop["status"] == (0 if stop["how"] == "term" else -9), stop
        assert stop["was_writing"] or stop["how"] != "write"
    steps = [stop["step"] for stop in seen["interruptions"]]
    assert steps == sorted(steps)
    assert steps[0] > 0


def test_a_run_killed_at_random_and_while_saving_ends_with_the_same_weights(play):
    check(play("kill*1,write*1,term*1", "float32,plain,one"))


@pytest.mark.slow
@pytest.mark.parametrize("case", [",".join(case) for case in MATRIX])
def test_twenty_kills_change_no_bit(play, case):
    seen = play("kill*10,write*10,term*1", case)
    check(seen)
    assert len(seen["interruptions"]) == 21
