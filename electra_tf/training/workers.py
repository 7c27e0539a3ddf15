"""Several workers act as one: what one of them knows or decides, all of them do.

Each worker runs the same program on its own rows. Whatever is not computed from config and step
(which checkpoint to restore, whether to stop) is the chief's to say, or the workers would part and
wait for each other for ever. With one process all of this costs nothing.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tensorflow as tf

from electra_tf.training.cluster import Cluster

# What TensorFlow raises, after about ten seconds without a sign of life, where a peer is gone.
_GONE = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.UnavailableError,
)


class Workers:
    """The processes of a run, seen from one of them.

    Every method is called by all workers, in the same order.
    """

    def __init__(self, strategy: tf.distribute.Strategy, cluster: Cluster | None):
        """
        Args:
          strategy: where the run computes.
          cluster: its workers; None = this process alone.
        """
        self._strategy = strategy
        self._cluster = cluster
        self.count = len(cluster.addresses) if cluster else 1
        self.is_chief = cluster is None or cluster.is_chief
        self._sum = tf.function(self._sum_in_graph)

    def gather(self, value: int) -> list[int]:
        """The values of all workers, the chief's first; each comes when the last has called."""
        if self.count == 1:
            return [value]
        every = self._sum(tf.constant(value, tf.int64)).numpy()
        return every[:: len(every) // self.count].tolist()

    def from_chief(self, value: int) -> int:
        """The chief's value, on every worker."""
        return self.gather(value)[0]

    def any(self, is_so: bool) -> bool:
        """True on every worker if it is so on one of them."""
        return any(self.gather(int(is_so)))

    def wait_for_all(self) -> None:
        """Returns when all workers have come here."""
        self.gather(0)

    def check_same(self, what: str, text: str) -> None:
        """Refuses workers that would train something else.

        Args:
          what: what the text is, for people.
          text: what must be the same everywhere.

        Raises:
          ValueError: names the workers whose text is not the chief's; raised on every worker.
        """
        digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
        digests = self.gather(digest)
        others = [i for i, other in enumerate(digests) if other != digests[0]]
        if others:
            names = ", ".join(self._cluster.describe(i) for i in others)
            raise ValueError(
                f"{names} started with another {what} than the chief; start the same command, "
                f"with the same files, on every worker"
            )

    @contextmanager
    def own_folder(self, folder: Path) -> Iterator[Path]:
        """Where this worker saves checkpoints: the chief to the run folder, the others to scratch.

        All of them must save, for TensorFlow may sum variables over replicas while it does; one
        folder for all fails while the parts are merged.

        Args:
          folder: of the chief's checkpoints.

        Returns:
          A context with the folder; scratch is removed at its end.
        """
        if self.is_chief:
            yield folder
            return
        with tempfile.TemporaryDirectory(prefix="electra_tf_worker_") as scratch:
            yield Path(scratch)

    def _sum_in_graph(self, value: tf.Tensor) -> tf.Tensor:
        """int64 [replicas]: what the worker of each replica gave."""
        strategy = self._strategy

        def on_replica(value: tf.Tensor) -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            own = tf.one_hot(
                context.replica_id_in_sync_group, strategy.num_replicas_in_sync, dtype=tf.int64
            )
            return context.all_reduce(tf.distribute.ReduceOp.SUM, own * value)

        per_replica = strategy.run(on_replica, args=(value,))
        return strategy.experimental_local_results(per_replica)[0]


@contextmanager
def peers_may_stop(cluster: Cluster | None) -> Iterator[None]:
    """Turns the end of another worker into a message for people.

    Raises:
      ValueError: another worker stopped or cannot be reached any more.
    """
    try:
        yield
    except _GONE as error:
        if cluster is None:
            raise
        raise ValueError(
            f"{_culprit(cluster, error.message)} stopped, or cannot be reached any more; see its "
            f"output. Start the same command again on every worker: the run goes on from its "
            f"newest checkpoint"
        ) from error


def _culprit(cluster: Cluster, message: str) -> str:
    """The worker that TensorFlow names in an error."""
    for job, task in re.findall(r"/job:(\w+)(?:/replica:\d+)?/task:(\d+)", message):
        name = f"{job} {task}"
        if name in cluster.tasks and name != cluster.tasks[cluster.index]:
            return cluster.describe(cluster.tasks.index(name))
    return "another worker"
