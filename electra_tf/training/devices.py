"""The devices of this machine: made ready, asked for, and described for people."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import tensorflow as tf


def prepare_gpus() -> None:
    """Lets GPUs take memory as they need it, not all at once.

    Call it before TensorFlow computes anything; what is set later is refused by TensorFlow.
    """
    for gpu in tf.config.list_physical_devices("GPU"):
        if not tf.config.experimental.get_memory_growth(gpu):
            tf.config.experimental.set_memory_growth(gpu, True)


def require_gpu() -> None:
    """Refuses to go on without a GPU.

    Raises:
      ValueError: TensorFlow sees none; says what to look at.
    """
    if tf.config.list_physical_devices("GPU"):
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = "" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})"
    raise ValueError(
        f"TensorFlow sees no GPU{hidden}; see whether nvidia-smi lists one, and install "
        f"TensorFlow's CUDA libraries with pip install 'tensorflow[and-cuda]=={tf.__version__}'; "
        f"without --require-gpu the run computes on the CPU"
    )


def describe_devices(strategy: tf.distribute.Strategy, workers: int = 1) -> str:
    """One line for people: `4 × GPU (NVIDIA A100-SXM4-40GB, 40.0 GiB)`, for each worker alike.

    Args:
      strategy: where a run computes.
      workers: how many processes share it.
    """
    devices = strategy.extended.worker_devices
    kind = tf.DeviceSpec.from_string(devices[0]).device_type
    details = {"CPU": _describe_cpu, "GPU": _describe_gpu}.get(kind, lambda: "")()
    line = f"{len(devices)} × {kind}" + (f" ({details})" if details else "")
    if workers > 1:
        line = f"{workers} workers, {strategy.num_replicas_in_sync} devices in all; here {line}"
    return line


def _describe_cpu() -> str:
    """Model, cores this process may use, and memory of the machine, as far as Linux tells."""
    lines = _read_lines("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    known = [*models[:1], f"{cores} cores"]
    totals = [line.split()[1] for line in _read_lines("/proc/meminfo") if line.startswith("MemT")]
    known += [_gib(int(kib) / 1024) for kib in totals[:1]]
    return ", ".join(known)


def _describe_gpu() -> str:
    """Model and memory; TensorFlow tells the one, the driver's tool the other."""
    gpu = tf.config.list_physical_devices("GPU")[0]
    model = tf.config.experimental.get_device_details(gpu).get("device_name", "unknown model")
    # TensorFlow may count GPUs in another order than the driver, so they are matched by model.
    sizes = {mib for name, mib in _gpus_of_the_driver() if name == model}
    return ", ".join([model, *(_gib(mib) for mib in sizes if len(sizes) == 1)])


def _gpus_of_the_driver() -> list[tuple[str, float]]:
    """Model and memory in MiB of every GPU that nvidia-smi lists."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        listed = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.rpartition(",") for line in listed.stdout.splitlines() if "," in line]
    return [(name.strip(), float(mib)) for name, _, mib in rows if mib.strip().isdecimal()]


def _gib(mib: float) -> str:
    return f"{mib / 1024:.1f} GiB"


def _read_lines(path: str) -> list[str]:
    """The lines of a file of the system, none where it is missing."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
