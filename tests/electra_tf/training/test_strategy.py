"""Strategies by name, on a machine with one CPU and nothing else."""

from __future__ import annotations

import pytest
import tensorflow as tf

from electra_tf.training.strategy import make_strategy


@pytest.mark.parametrize("name", ["auto", "one_device", "multi_worker"])
def test_one_cpu_alone_is_one_device(name):
    strategy = make_strategy(name)
    assert isinstance(strategy, tf.distribute.OneDeviceStrategy)
    assert strategy.num_replicas_in_sync == 1


def test_mirrored_takes_the_cpu_where_there_is_no_gpu():
    strategy = make_strategy("mirrored")
    assert isinstance(strategy, tf.distribute.MirroredStrategy)
    assert "CPU" in strategy.extended.worker_devices[0]


@pytest.mark.parametrize(("name", "count"), [("auto", 2), ("one_device", 1), ("mirrored", 2)])
def test_auto_and_mirrored_take_all_gpus(monkeypatch, name, count):
    asked = []
    gpus = [tf.config.LogicalDevice(f"/device:GPU:{i}", "GPU") for i in (0, 1)]
    monkeypatch.setattr(
        tf.config, "list_logical_devices", lambda kind: gpus if kind == "GPU" else []
    )
    for kind in ("OneDeviceStrategy", "MirroredStrategy"):
        monkeypatch.setattr(tf.distribute, kind, lambda devices: asked.append(devices))
    make_strategy(name)
    assert asked == [[gpu.name for gpu in gpus] if count == 2 else gpus[0].name]


def test_a_tpu_that_is_not_there_is_an_error_with_a_way_out(monkeypatch):
    monkeypatch.delenv("TPU_NAME", raising=False)
    with pytest.raises(ValueError, match="no TPU was found under the name") as error:
        make_strategy("tpu")
    assert "'local'" in str(error.value)
    assert "install tensorflow-tpu==2.20" in str(error.value)
