"""Where a run computes: devices, found, described and put under one tf.distribute strategy."""

from __future__ import annotations

import tensorflow as tf


def make_strategy(name: str) -> tf.distribute.Strategy:
    """The strategy for a name of `TrainingConfig.strategy`.

    GPUs take memory as they need it, not all at once. Call it before anything else touches a GPU.

    Args:
      name: auto (all GPUs of this machine where it has several, else one device), one_device or
        mirrored (all GPUs; all logical CPU devices where there is no GPU).

    Returns:
      The strategy.
    """
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if name == "mirrored" or (name == "auto" and len(gpus) > 1):
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    return tf.distribute.OneDeviceStrategy(devices[0].name)


def describe_devices(strategy: tf.distribute.Strategy) -> str:
    """One line for people: `1 × CPU` or `4 × GPU (NVIDIA A100)`."""
    kinds = {tf.DeviceSpec.from_string(d).device_type for d in strategy.extended.worker_devices}
    line = f"{strategy.num_replicas_in_sync} × {'/'.join(sorted(kinds))}"
    gpus = tf.config.list_physical_devices("GPU")
    if "GPU" in kinds and gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        line += f" ({details.get('device_name', 'unknown model')})"
    return line
