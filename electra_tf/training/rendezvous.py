"""Workers of a run find each other before TensorFlow starts. No TensorFlow.

TensorFlow waits for them too, but for ever, and where neither Ctrl-C nor SIGTERM reaches it. Here a
worker that is missing, or that was told of another cluster, ends the waiting with its name.
"""

from __future__ import annotations

import errno
import json
import socket
import time
from collections.abc import Callable, Iterator

from electra_tf.training.cluster import TF_CONFIG, Cluster

_START_SECONDS = 600.0  # containers may take their time
_RETRY_SECONDS = 0.2
_CALL_SECONDS = 2.0
_LONGEST_CALL = 1_000_000


def wait_for_workers(
    cluster: Cluster, say: Callable[[str], None], timeout_seconds: float = _START_SECONDS
) -> None:
    """Returns when this worker has called every other one, and every other one has called it.

    So all of them go on at the same moment, and TensorFlow finds everybody.

    Args:
      cluster: the workers.
      say: told once whom this worker waits for.
      timeout_seconds: how long to wait.

    Raises:
      ValueError: the port of this worker is taken, a worker did not start in time or was started
        with another TF_CONFIG.
    """
    others = [i for i in range(len(cluster.addresses)) if i != cluster.index]
    if not others:
        return
    names = ", ".join(cluster.describe(i) for i in others)
    role = ", the chief" if cluster.is_chief else ""
    say(f"this is {cluster.describe(cluster.index)}{role}; waiting for {names}")
    failures = dict.fromkeys(others, "")
    unheard = set(others)
    deadline = time.monotonic() + timeout_seconds
    with _listen(cluster) as listener:
        while failures or unheard:
            unheard -= set(_hear(cluster, listener))
            results = {i: _call(cluster, i) for i in failures}
            failures = {i: why for i, why in results.items() if why}
            if time.monotonic() > deadline:
                raise _silent(cluster, failures, unheard, timeout_seconds)


def _listen(cluster: Cluster) -> socket.socket:
    """Keeps this worker's port open until TensorFlow opens it."""
    port = int(cluster.addresses[cluster.index].rpartition(":")[2])
    try:
        listener = socket.create_server(("", port), backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"port {port} of {cluster.describe(cluster.index)} is taken; is an earlier run "
                f"still there, or another worker with the same task.index? Otherwise choose "
                f"another port in {TF_CONFIG}"
            ) from None
        raise ValueError(
            f"port {port} of {cluster.describe(cluster.index)} cannot be opened: {error}"
        ) from None
    listener.settimeout(_RETRY_SECONDS)
    return listener


def _call(cluster: Cluster, index: int) -> str:
    """Tells another worker who calls; why that was not possible, or nothing."""
    host, _, port = cluster.addresses[index].rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_CALL_SECONDS) as connection:
            connection.sendall(json.dumps([cluster.index, *cluster.addresses]).encode() + b"\n")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _hear(cluster: Cluster, listener: socket.socket) -> Iterator[int]:
    """Which workers call, until for a moment nobody does."""
    while True:
        try:
            connection, (host, *_) = listener.accept()
        except TimeoutError:
            return
        try:
            with connection, connection.makefile("rb") as file:
                connection.settimeout(_CALL_SECONDS)
                index, *addresses = json.loads(file.readline(_LONGEST_CALL))
        except (OSError, ValueError, TypeError):
            continue  # somebody else who tries ports
        if addresses != list(cluster.addresses) or index == cluster.index:
            raise ValueError(
                f"{host} was started as worker number {index} of {', '.join(map(str, addresses))}, "
                f"this is number {cluster.index} of {', '.join(cluster.addresses)}; give every "
                f"worker the same cluster and its own task in {TF_CONFIG}"
            )
        yield index


def _silent(
    cluster: Cluster, failures: dict[int, str], unheard: set[int], timeout_seconds: float
) -> ValueError:
    reasons = [
        f"{cluster.describe(i)}: {failures.get(i, 'can be reached, but does not call back')}"
        for i in sorted(unheard | set(failures))
    ]
    return ValueError(
        f"after {timeout_seconds:.0f} seconds there is no answer from {', '.join(reasons)}; start "
        f"the same command on every worker, and let their ports through firewalls"
    )
