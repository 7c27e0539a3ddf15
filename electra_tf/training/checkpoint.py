"""The state of a run on disk: one writer at a time, saved whole, resumed from the newest good."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from electra_tf.whole_folder import replace_text

# What a file that is cut short, altered or missing raises, by the place where it is noticed.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, RuntimeError, ValueError)


BEST = "best"


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


class Checkpoints:
    """The checkpoints of a run: the newest few, and the best one in a folder beside them."""

    def __init__(self, checkpoint: tf.train.Checkpoint, folder: str | Path, keep: int):
        """Nothing is read or written yet.

        Args:
          checkpoint: what is saved and restored.
          folder: where; made when the first one is saved.
          keep: newest checkpoints that are kept.
        """
        self._checkpoint = checkpoint
        self._folder = Path(folder)
        self._keep = keep
        self._manager: tf.train.CheckpointManager | None = None

    def restore(self) -> Restored:
        """As `restore_newest`. Damaged newer ones are set aside under another name."""
        restored = restore_newest(self._checkpoint, self._folder)
        for path in restored.damaged:
            _set_aside(Path(path))
        good = [path for path in find_checkpoints(self._folder) if path not in restored.damaged]
        if restored.path:
            _write_list(self._folder, good)
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, str(self._folder), max_to_keep=self._keep
        )
        self._sweep({Path(path).name for path in good})
        return restored

    def save(self, step: int) -> None:
        """Saves, unless this step was saved last; older ones beyond `keep` are then removed.

        Raises:
          ValueError: it could not be written. Those before it are whole.
        """
        assert self._manager, "restore comes before save"
        if self.newest() != step:
            with self._explained(self.path(step)):
                self._manager.save(checkpoint_number=step)

    def save_best(self, step: int) -> None:
        """Saves in the folder `best`; the one that stood there is then removed.

        Raises:
          ValueError: it could not be written. The one before is whole.
        """
        new = self._folder / BEST / f"ckpt-{step}"
        with self._explained(new):
            self._checkpoint.write(str(new))
        _remove(file for file in new.parent.iterdir() if file.stem != new.name)

    def newest(self, until_step: int | None = None) -> int | None:
        """The step of the newest checkpoint; None where there is none.

        Args:
          until_step: look at those of this step and before only.
        """
        assert self._manager, "restore comes before newest"
        steps = [int(path.rpartition("-")[2]) for path in self._manager.checkpoints]
        return max((s for s in steps if until_step is None or s <= until_step), default=None)

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step stands."""
        return self._folder / f"ckpt-{step}"

    @contextmanager
    def _explained(self, path: Path) -> Iterator[None]:
        """Says what a checkpoint that cannot be written means for the run."""
        try:
            yield
        except (tf.errors.OpError, OSError) as error:
            _remove(path.parent.glob(f"{path.name}[._]*"))
            newest = self.newest()
            way_on = (
                "the same command starts again"
                if newest is None
                else f"{self.path(newest)} is whole, and the same command goes on from there"
            )
            reason = str(error).partition("\n")[0].partition(" [Op:")[0]
            raise ValueError(
                f"{path}: this checkpoint could not be written ({reason}); make room on the disk: "
                f"{way_on}"
            ) from error

    def _sweep(self, kept: set[str]) -> None:
        """Removes what a killed run left half-written: nothing reads it, and it can fill a disk."""
        if self._folder.is_dir():
            _remove(path for path in self._folder.glob("ckpt-*") if path.stem not in kept)
            _remove(self._folder.glob("checkpoint.tmp*"))


def restore_newest(checkpoint: tf.train.Checkpoint, folder: str | Path) -> Restored:
    """Restores the newest checkpoint that can be read whole; changes nothing on disk.

    Args:
      checkpoint: the objects to fill; all of them must be in the file.
      folder: where `Checkpoints` saved.

    Returns:
      Which one was restored.

    Raises:
      ValueError: checkpoints exist, but none can be read.
    """
    paths = find_checkpoints(folder)
    damaged: list[str] = []
    while paths:
        try:
            checkpoint.restore(paths[-1]).assert_consumed()
        except _UNREADABLE:
            damaged.append(paths.pop())
            continue
        return Restored(paths[-1], tuple(damaged))
    if damaged:
        raise ValueError(
            f"{folder}: none of the checkpoints can be read ({', '.join(damaged)}); "
            f"remove the folder to start again"
        )
    return Restored(None, ())


def find_checkpoints(folder: str | Path) -> list[str]:
    """Checkpoints that were saved whole, from oldest to newest.

    TensorFlow's list of them tells. Where it is damaged, the folder itself is looked at: a run must
    not start again because of it. Where there is none, nothing was ever saved whole.
    """
    folder = Path(folder)
    try:
        state = tf.train.get_checkpoint_state(str(folder))
    except ValueError:  # an empty file
        state = None
    if state:
        return list(state.all_model_checkpoint_paths)
    if not (folder / "checkpoint").exists():
        return []
    prefixes = [path.with_suffix("") for path in folder.glob("ckpt-*.index")]
    prefixes.sort(key=lambda prefix: int(prefix.name.rpartition("-")[2]))
    return [str(prefix) for prefix in prefixes]


def _write_list(folder: Path, paths: list[str]) -> None:
    """Lists these checkpoints as TensorFlow's manager does, which takes over what has a time.

    `tf.compat.v1.train.update_checkpoint_state` would do, with a warning to whoever resumes a run.
    """
    names = [Path(path).name for path in paths]
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    lines += [f"all_model_checkpoint_timestamps: {place + 1}" for place in range(len(names))]
    replace_text(folder / "checkpoint", "".join(f"{line}\n" for line in lines))


def _set_aside(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}.*"):
        file.rename(file.with_name(f"damaged-{file.name}"))


def _remove(paths: Iterable[Path]) -> None:
    for path in list(paths):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
