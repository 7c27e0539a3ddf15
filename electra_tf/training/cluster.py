"""Which workers train together: TF_CONFIG, read and checked. No TensorFlow."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

TF_CONFIG = "TF_CONFIG"
_JOBS = ("chief", "worker")
_ADDRESS = re.compile(r"[^\s:/]+:(\d{1,5})")
_EXAMPLE = (
    'for the first of two workers: export TF_CONFIG=\'{"cluster": {"worker": ["10.0.0.1:2222", '
    '"10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}}\'; the second has index 1'
)


class Cluster(NamedTuple):
    """The workers of one run, as one of them sees them.

    Fields:
      tasks: `worker 0`, as TF_CONFIG counts them, the chief first.
      addresses: `host:port` of each.
      index: which of them this process is; 0 is the chief.
    """

    tasks: tuple[str, ...]
    addresses: tuple[str, ...]
    index: int

    @property
    def is_chief(self) -> bool:
        """True for the worker that writes what a run leaves behind."""
        return self.index == 0

    def describe(self, index: int) -> str:
        """`worker 1 (10.0.0.2:2222)`."""
        return f"{self.tasks[index]} ({self.addresses[index]})"


def find_cluster(strategy: str, tf_config: str | None) -> Cluster | None:
    """The workers that a strategy trains on.

    Args:
      strategy: a value of `TrainingConfig.strategy`.
      tf_config: the value of the environment variable TF_CONFIG, None where it is not set.

    Returns:
      The cluster for multi_worker, and for auto where TF_CONFIG names several workers; else None.

    Raises:
      ValueError: TF_CONFIG is needed and missing, or wrong; says how it should look.
    """
    if strategy == "multi_worker":
        if not tf_config:
            raise ValueError(
                f"training.strategy is multi_worker, but {TF_CONFIG} is not set; {_EXAMPLE}"
            )
        return read_cluster(tf_config)
    if strategy == "auto" and tf_config:
        cluster = read_cluster(tf_config)
        return cluster if len(cluster.addresses) > 1 else None
    return None


def read_cluster(tf_config: str) -> Cluster:
    """Reads a value of TF_CONFIG.

    >>> read_cluster('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", '
    ...              '"index": 1}}')
    Cluster(tasks=('worker 0', 'worker 1'), addresses=('a:1', 'b:1'), index=1)

    Args:
      tf_config: JSON with `cluster` (jobs chief and worker) and `task` (type and index).

    Returns:
      The cluster, a job `chief` standing before the job `worker`.

    Raises:
      ValueError: names what is wrong and gives an example.
    """
    try:
        tree = json.loads(tf_config)
    except ValueError as error:
        raise _wrong(f"is not JSON ({error}): {tf_config[:200]}") from None
    cluster, task = (
        tree.get(key) if isinstance(tree, dict) else None for key in ("cluster", "task")
    )
    if not (isinstance(cluster, dict) and isinstance(task, dict)):
        raise _wrong(f"needs the keys cluster and task: {tf_config[:200]}")
    jobs = _read_jobs(cluster)
    kind, index = task.get("type"), task.get("index")
    if kind not in list(jobs):  # it may be of a kind that cannot be looked up
        raise _wrong(f"has task.type {kind!r}, but cluster has {' and '.join(jobs) or 'no job'}")
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    if type(index) is not int or not 0 <= index < len(jobs[kind]):
        raise _wrong(
            f"has task.index {index!r}, but cluster.{kind} has {len(jobs[kind])} addresses, "
            f"counted from 0"
        )
    tasks = {f"{job} {i}": address for job in jobs for i, address in enumerate(jobs[job])}
    return Cluster(tuple(tasks), tuple(tasks.values()), list(tasks).index(f"{kind} {index}"))


def _read_jobs(cluster: dict) -> dict[str, list[str]]:
    """The addresses of each job, all well-formed and different."""
    others = set(cluster) - set(_JOBS)
    if others:
        raise _wrong(
            f"has the jobs {', '.join(sorted(others))} in cluster; all workers train alike, so "
            f"only {' and '.join(_JOBS)} are known"
        )
    for job, addresses in cluster.items():
        if not isinstance(addresses, list) or not addresses:
            raise _wrong(f"has no list of addresses in cluster.{job}, but {addresses!r}")
        for address in addresses:
            match = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
            if not match or not 0 < int(match[1]) < 65536:
                raise _wrong(f"has {address!r} in cluster.{job}, which is not host:port")
    if len(cluster.get("chief", ())) > 1:
        raise _wrong(
            f"has {len(cluster['chief'])} chiefs; one worker is chief, without the job "
            f"the first worker"
        )
    everyone = [address for addresses in cluster.values() for address in addresses]
    twice = sorted({address for address in everyone if everyone.count(address) > 1})
    if twice:
        raise _wrong(f"names {', '.join(twice)} more than once in cluster")
    return {job: cluster[job] for job in _JOBS if job in cluster}


def _wrong(what: str) -> ValueError:
    return ValueError(f"{TF_CONFIG} {what}; {_EXAMPLE}")
