"""The state of a run on disk: one writer at a time, saved whole, resumed from the newest good."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

# What a file that is cut short, altered or missing raises, by the place where it is noticed.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, RuntimeError, ValueError)


class Restored(NamedTuple):
    """What a run continues from.

    Fields:
      path: the checkpoint, or None for a fresh start.
      damaged: newer checkpoints that could not be read.
    """

    path: str | None
    damaged: tuple[str, ...]


@contextmanager
def run_lock(folder: str | Path) -> Iterator[None]:
    """Holds a run folder for this process; the lock ends with it, however it ends.

    Raises:
      ValueError: another process is writing to the folder.
    """
    path = Path(folder) / "run.lock"
    with open(path, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise ValueError(
                f"{folder}: process {file.read().strip() or 'unknown'} is training there; wait "
                f"for it, stop it, or give another --out"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def restore_newest(checkpoint: tf.train.Checkpoint, folder: str | Path) -> Restored:
    """Restores the newest checkpoint that can be read whole, and forgets damaged newer ones.

    Args:
      checkpoint: the objects to fill; all of them must be in the file.
      folder: where a `tf.train.CheckpointManager` saved.

    Returns:
      Which one was restored.

    Raises:
      ValueError: checkpoints exist, but none can be read.
    """
    paths, is_listed = _find_checkpoints(Path(folder))
    damaged: list[str] = []
    while paths:
        try:
            checkpoint.restore(paths[-1]).assert_consumed()
        except _UNREADABLE:
            damaged.append(paths.pop())
            continue
        if damaged or not is_listed:
            tf.compat.v1.train.update_checkpoint_state(str(folder), paths[-1], paths)
        return Restored(paths[-1], tuple(damaged))
    if damaged:
        raise ValueError(
            f"{folder}: none of the checkpoints can be read ({', '.join(damaged)}); "
            f"remove the folder to start again"
        )
    return Restored(None, ())


def _find_checkpoints(folder: Path) -> tuple[list[str], bool]:
    """Paths from oldest to newest, and whether TensorFlow's list of them could be read.

    Where the list is damaged, the folder itself is looked at: a run must not start again because
    of it. Where there is none, nothing was ever saved whole.
    """
    try:
        state = tf.train.get_checkpoint_state(str(folder))
    except ValueError:  # an empty file
        state = None
    if state:
        return list(state.all_model_checkpoint_paths), True
    if not (folder / "checkpoint").exists():
        return [], True
    prefixes = [path.with_suffix("") for path in folder.glob("*-*.index")]
    prefixes.sort(key=lambda prefix: int(prefix.name.rpartition("-")[2]))
    return [str(prefix) for prefix in prefixes], False
