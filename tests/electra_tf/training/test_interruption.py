"""Signals are heard while TensorFlow computes, and handlers are as before afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from electra_tf.training.interruption import StopRequest

# One call of TensorFlow that ends when the flag is set, and never returns to Python before.
COMPUTES = """
    import os, sys
    import tensorflow as tf
    from electra_tf.training.interruption import StopRequest

    stop = StopRequest()

    @tf.function
    def compute():
        is_deaf = "deaf" in sys.argv  # as in a step that takes long
        goes_on = lambda steps: (is_deaf | tf.logical_not(stop.flag)) & (steps < 10**9)
        return tf.while_loop(goes_on, lambda steps: steps + 1, [tf.constant(0)])[0]

    with stop.listening(lambda text: print(text, flush=True)):
        print("computing", flush=True)
        steps = compute()
    print(stop.cause, int(steps) < 10**9, flush=True)
"""


@pytest.fixture
def start():
    processes = []

    def started(*arguments):
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(COMPUTES), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        processes.append(process)
        assert process.stdout.readline() == "computing\n"
        time.sleep(0.5)  # deep inside the loop
        return process

    yield started
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGTERM, "SIGTERM: saving after this step"),
        (
            signal.SIGINT,
            "Ctrl-C: saving after this step; Ctrl-C again leaves at once, without saving",
        ),
    ],
)
def test_a_signal_ends_a_loop_inside_tensorflow(start, number, said):
    process = start()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert out.splitlines() == [said, f"{said.partition(':')[0]} True"], err
    assert process.returncode == 0


def test_a_second_ctrl_c_leaves_at_once(start):
    process = start("deaf")
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().startswith("Ctrl-C: saving")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130


def test_handlers_are_as_before_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    stop = StopRequest()
    for _ in range(2):
        with stop.listening(lambda text: None):
            assert signal.getsignal(signal.SIGTERM) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    assert signal.set_wakeup_fd(-1) == -1
    assert not stop.flag.numpy()
    assert stop.cause is None


def test_the_first_cause_stands():
    stop = StopRequest()
    stop.make("SIGTERM")
    stop.make("Ctrl-C")
    assert (stop.cause, bool(stop.flag.numpy())) == ("SIGTERM", True)


def test_in_another_thread_nothing_is_taken():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def run():
        with StopRequest().listening(lambda text: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
