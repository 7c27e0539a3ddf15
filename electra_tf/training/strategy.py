"""Where a run computes: its devices under one tf.distribute strategy."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import tensorflow as tf

from electra_tf.training.cluster import Cluster
from electra_tf.training.devices import prepare_gpus
from electra_tf.training.rendezvous import wait_for_workers


def make_strategy(
    name: str, cluster: Cluster | None = None, say: Callable[[str], None] = print
) -> tf.distribute.Strategy:
    """The strategy for a name of `TrainingConfig.strategy`.

    Several workers and a TPU must be met before TensorFlow has computed anything.

    Args:
      name: auto (all GPUs of this machine where it has several, else one device), one_device,
        mirrored (all GPUs; all logical CPU devices where there is no GPU), multi_worker (as auto
        where this process is to work alone) or tpu.
      cluster: as `find_cluster` found it; None = this process works alone.
      say: told whom a worker waits for.

    Returns:
      The strategy.

    Raises:
      ValueError: a worker did not start in time, or there is no TPU.
    """
    if cluster is not None:
        return _make_multi_worker(cluster, say)
    if name == "tpu":
        return _make_tpu()
    prepare_gpus()
    gpus = tf.config.list_logical_devices("GPU")
    devices = gpus or tf.config.list_logical_devices("CPU")
    if name == "mirrored" or (name != "one_device" and len(gpus) > 1):
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    return tf.distribute.OneDeviceStrategy(devices[0].name)


def _make_multi_worker(cluster: Cluster, say: Callable[[str], None]) -> tf.distribute.Strategy:
    """All GPUs of every worker, or one CPU device of each; TensorFlow reads TF_CONFIG itself.

    Collectives are its choice: NCCL between GPUs, rings over gRPC between CPUs.
    """
    prepare_gpus()
    wait_for_workers(cluster, say)
    with _sigterm_stays_ours():
        return tf.distribute.MultiWorkerMirroredStrategy()


@contextmanager
def _sigterm_stays_ours() -> Iterator[None]:
    """TensorFlow's service for workers takes SIGTERM and only notes it; a run shall end by it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def _make_tpu() -> tf.distribute.Strategy:
    """The TPU of this virtual machine, or the one that TPU_NAME names. Not tested on a TPU."""
    name = os.environ.get("TPU_NAME") or "local"
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, OSError, tf.errors.OpError) as error:
        reason = str(error).split("\n")[0][:200]
        raise ValueError(
            f"training.strategy is tpu, but no TPU was found under the name {name!r} ({reason}); "
            f"on a TPU virtual machine install tensorflow-tpu=={tf.__version__} instead of "
            f"tensorflow, elsewhere set TPU_NAME; or take another training.strategy"
        ) from None
