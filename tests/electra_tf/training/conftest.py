"""Runs a script of this folder in a process of its own and reads the JSON it prints last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# It imports its neighbour, which only a script may.
collect_ignore = ["float16_trainings.py"]


@pytest.fixture(scope="session")
def run_script():
    def run(name: str, *arguments: str) -> dict:
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        script = Path(__file__).with_name(name)
        finished = subprocess.run(
            [sys.executable, str(script), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            timeout=1200,
        )
        assert finished.returncode == 0, finished.stderr[-3000:]
        return json.loads(finished.stdout.splitlines()[-1])

    return run
