"""Runs a script of this folder in a process of its own and reads the JSON it prints last."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

# They import their neighbours, which only scripts may.
collect_ignore = ["float16_trainings.py", "worker_trainings.py"]


def start(name: str, *arguments: str, **variables: str) -> subprocess.Popen:
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name(name)), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | variables,
    )


def finish(process: subprocess.Popen, code: int = 0) -> dict:
    try:
        out, err = process.communicate(timeout=1200)
    finally:
        process.kill()
    assert process.returncode == code, err[-3000:]
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="session")
def run_script():
    return lambda name, *arguments: finish(start(name, *arguments))


@pytest.fixture(scope="session")
def run_workers():
    """Runs a script twice, as the two workers of a cluster on this machine.

    The second ends with code `last_code`.
    """

    def run(name: str, *arguments: str, last_code: int = 0) -> list[dict]:
        with socket.socket() as one, socket.socket() as other:
            for probe in (one, other):
                probe.bind(("127.0.0.1", 0))
            addresses = [f"127.0.0.1:{probe.getsockname()[1]}" for probe in (one, other)]
        processes = []
        for index in (0, 1):
            task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            processes.append(start(name, *arguments, TF_CONFIG=json.dumps(task)))
        return [finish(processes[0]), finish(processes[1], last_code)]

    return run
