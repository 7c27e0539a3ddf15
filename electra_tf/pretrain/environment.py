"""Where a run computes, written down: devices, cores, versions."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from electra_tf.pretrain.run_folder import ENVIRONMENT
from electra_tf.whole_folder import replace_text


def versions() -> dict[str, str]:
    """Of everything that could change a number."""
    return {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
    }


def write_environment(folder: Path, devices: str) -> None:
    """Writes `environment.json`; a resumed run writes where it goes on.

    Args:
      folder: the run folder.
      devices: as `describe_devices` says.
    """
    facts = {
        "devices": devices,
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}",
        **versions(),
    }
    replace_text(folder / ENVIRONMENT, json.dumps(facts, indent=2) + "\n")
