"""Workers that find each other, and those that do not, on ports of this machine."""

from __future__ import annotations

import json
import re
import socket
import threading

import pytest

from electra_tf.training.cluster import Cluster
from electra_tf.training.rendezvous import wait_for_workers


@pytest.fixture
def two_workers():
    """The same two workers of this machine, seen from each."""
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        addresses = tuple(f"127.0.0.1:{probe.getsockname()[1]}" for probe in (one, other))
    return [Cluster(("worker 0", "worker 1"), addresses, index) for index in (0, 1)]


def test_workers_wait_for_each_other_whoever_comes_first(two_workers):
    said, met = [], []

    def start(cluster):
        wait_for_workers(cluster, said.append, timeout_seconds=20)
        met.append(cluster.index)

    early, late = (threading.Thread(target=start, args=(cluster,)) for cluster in two_workers)
    early.start()
    early.join(0.5)
    assert met == []
    assert said == [
        f"this is {two_workers[0].describe(0)}, the chief; waiting for {two_workers[0].describe(1)}"
    ]
    late.start()
    early.join(20)
    late.join(20)
    assert sorted(met) == [0, 1]


def test_a_worker_alone_waits_for_nobody():
    wait_for_workers(Cluster(("worker 0",), ("127.0.0.1:1",), 0), pytest.fail)


def test_a_worker_that_never_starts_is_named(two_workers):
    with pytest.raises(ValueError, match="after 0 seconds there is no answer from worker 1") as e:
        wait_for_workers(two_workers[0], lambda text: None, timeout_seconds=0.3)
    assert f"({two_workers[0].addresses[1]}): Connection refused" in str(e.value)


def test_a_worker_that_cannot_call_back_is_named(two_workers):
    port = int(two_workers[0].addresses[0].rpartition(":")[2])
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(ValueError, match=r"worker 0 .* can be reached, but does not call back"),
    ):
        wait_for_workers(two_workers[1], lambda text: None, timeout_seconds=0.3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ([0, "a:1", "b:1"], "127.0.0.1 was started as worker number 0 of a:1, b:1, this is number"),
        (["same as mine"], "was started as worker number 0 of .* and its own task in TF_CONFIG"),
    ],
)
def test_a_worker_with_another_tf_config_is_named(two_workers, call, message):
    cluster = two_workers[0]
    call = [0, *cluster.addresses] if call == ["same as mine"] else call
    failed = []

    def start():
        try:
            wait_for_workers(cluster, lambda text: None, timeout_seconds=20)
        except ValueError as error:
            failed.append(str(error))

    waiting = threading.Thread(target=start)
    waiting.start()
    host, _, port = cluster.addresses[0].rpartition(":")
    for text in ("GET / HTTP/1.1", json.dumps(7), json.dumps(call)):  # strangers, then the worker
        for _ in range(100):
            try:
                with socket.create_connection((host, int(port))) as connection:
                    connection.sendall(f"{text}\n".encode())
                break
            except ConnectionRefusedError:
                waiting.join(0.05)
    waiting.join(20)
    assert re.search(message, failed[0])


def test_a_port_that_is_taken_is_named(two_workers):
    port = int(two_workers[1].addresses[1].rpartition(":")[2])
    with (
        socket.create_server(("", port)),
        pytest.raises(ValueError, match=f"port {port} of worker 1 .* is taken; is an earlier run"),
    ):
        wait_for_workers(two_workers[1], lambda text: None, timeout_seconds=1)
