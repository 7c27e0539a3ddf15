"""Devices as they are prepared, asked for and described; there is no GPU here, so one is played."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest
import tensorflow as tf

from electra_tf.training.devices import describe_devices, prepare_gpus, require_gpu

A100 = "NVIDIA A100-SXM4-40GB"


@pytest.fixture
def gpus(monkeypatch):
    """A machine with two GPUs, none used yet: gives the list of those whose growth was set."""
    grown = []
    devices = [SimpleNamespace(name=f"GPU:{i}", device_type="GPU") for i in (0, 1)]
    config, experimental = tf.config, tf.config.experimental
    monkeypatch.setattr(config, "list_physical_devices", lambda kind=None: devices)
    monkeypatch.setattr(experimental, "get_memory_growth", lambda gpu: gpu in grown)
    monkeypatch.setattr(experimental, "get_device_details", lambda gpu: {"device_name": A100})

    def set_memory_growth(gpu, is_on):
        assert is_on
        grown.append(gpu)

    monkeypatch.setattr(experimental, "set_memory_growth", set_memory_growth)
    return devices, grown


@pytest.fixture
def driver(monkeypatch):
    """Plays nvidia-smi: `driver("name, MiB", …)`."""

    def says(*lines):
        def run(command, **_):
            assert command[0] == "nvidia-smi"
            return SimpleNamespace(stdout="".join(f"{line}\n" for line in lines))

        monkeypatch.setattr(subprocess, "run", run)

    return says


def strategy_on(*devices):
    return SimpleNamespace(
        extended=SimpleNamespace(worker_devices=devices), num_replicas_in_sync=2 * len(devices)
    )


def test_every_gpu_takes_memory_as_it_needs_it_and_is_set_once(gpus):
    devices, grown = gpus
    prepare_gpus()
    assert grown == devices
    prepare_gpus()  # TensorFlow may be running by now, and refuses to be told again
    assert grown == devices


def test_a_gpu_that_is_required_and_missing_is_an_error_with_a_way_out(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(ValueError, match="TensorFlow sees no GPU") as error:
        require_gpu()
    for part in ("CUDA_VISIBLE_DEVICES is ''", "nvidia-smi", "tensorflow[and-cuda]==2.20"):
        assert part in str(error.value)


def test_a_gpu_that_is_required_and_there_is_fine(gpus):
    require_gpu()


def test_gpus_are_told_with_number_model_and_memory(gpus, driver):
    driver(f"{A100}, 40960", f"{A100}, 40960", "NVIDIA T400, 2048")
    line = describe_devices(strategy_on("/device:GPU:0", "/device:GPU:1"))
    assert line == f"2 × GPU ({A100}, 40.0 GiB)"


@pytest.mark.parametrize("lines", [(), (f"{A100}, [N/A]",), (f"{A100}, 40960", f"{A100}, 81920")])
def test_memory_that_is_not_known_is_not_told(gpus, driver, lines):
    driver(*lines)
    assert describe_devices(strategy_on("/device:GPU:0")) == f"1 × GPU ({A100})"


def test_a_driver_without_its_tool_is_no_error(gpus, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert describe_devices(strategy_on("/device:GPU:0")) == f"1 × GPU ({A100})"


def test_the_cpu_is_told_with_cores_and_memory():
    line = describe_devices(tf.distribute.OneDeviceStrategy("CPU:0"))
    assert line.startswith("1 × CPU (")
    assert " cores, " in line
    assert line.endswith(" GiB)")


def test_several_workers_tell_how_many_devices_there_are_in_all():
    line = describe_devices(strategy_on("/job:worker/task:0/device:TPU:0"), workers=2)
    assert line == "2 workers, 2 devices in all; here 1 × TPU"
