"""Folders that stand complete at their place or not at all. No TensorFlow."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The system's errors where a disk, a quota or a file's limit has no room left."""


@contextlib.contextmanager
def whole_folder(
    path: str | Path, overwrite: bool, own_files: Collection[str], what: str
) -> Iterator[Path]:
    """Gives an empty folder to fill, which takes its place once the block has ended well.

    It stands beside its place under a hidden name and is then renamed. An old folder is first
    renamed to `.NAME.old`, so that a process killed at any moment leaves a complete folder at
    the path or, between two renames, beside it.

    Args:
      path: the folder; its parent is made if need be.
      overwrite: replace a folder of this kind that stands there.
      own_files: names, or patterns such as `model-*.safetensors`, of the files such a folder may
        hold at any depth. One that holds others is never replaced.
      what: what such a folder is called, for the errors.

    Raises:
      ValueError: the path exists and may not be replaced.
      OSError: the disk is full; what stood at the path still stands there.
    """
    path = Path(path).resolve()
    _check_target(path, overwrite, own_files, what)
    path.parent.mkdir(parents=True, exist_ok=True)
    new, old = path.with_name(f".{path.name}.{os.getpid()}.new"), old_of(path)
    if new.exists():
        shutil.rmtree(new)  # of a killed process that had our number
    try:
        new.mkdir()
        yield new
        _flush_all(new)
        if path.exists():
            if old.exists():
                shutil.rmtree(old)  # the path is complete, so this is a leftover
            path.rename(old)
        new.rename(path)
    except BaseException as error:
        shutil.rmtree(new, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            reason = os.strerror(error.errno).lower()
            raise OSError(f"{path}: not written: {reason}; write to another disk") from error
        raise
    _flush(path.parent)
    if old.exists():
        shutil.rmtree(old)


def old_of(path: Path) -> Path:
    """Where the earlier folder stands while a new one takes its place."""
    return path.with_name(f".{path.name}.old")


def replace_text(path: Path, text: str) -> None:
    """Writes a file so that at any moment there is the old one or the new one, whole."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def _check_target(path: Path, overwrite: bool, own_files: Collection[str], what: str) -> None:
    if not path.exists():
        return
    if not overwrite:
        raise ValueError(f"{path}: exists already; choose another folder or ask to overwrite it")
    if not path.is_dir():
        raise ValueError(f"{path}: is a file, not {what}; it is not overwritten")
    others = sorted(
        str(child.relative_to(path))
        for child in path.rglob("*")
        if not child.is_dir() and not any(fnmatchcase(child.name, name) for name in own_files)
    )
    if others:
        raise ValueError(
            f"{path}: holds files that are no part of {what} ({', '.join(others[:5])}); "
            f"it is not overwritten, choose another folder"
        )


def _flush_all(folder: Path) -> None:
    """Asks the disk to keep every file below, and every folder's list of names."""
    for parent, _, files in os.walk(folder):
        for name in files:
            _flush(Path(parent, name))
        _flush(Path(parent))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
