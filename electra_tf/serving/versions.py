"""The numbered folders of one served model, as TensorFlow Serving watches them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from electra_tf.whole_folder import whole_folder

EXTRA = "assets.extra"


def versions_in(folder: str | Path) -> list[int]:
    """The versions that stand complete in a folder, ascending."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    numbers = [p.name for p in folder.iterdir() if p.name.isascii() and p.name.isdecimal()]
    return sorted(int(name) for name in numbers if (folder / name / "saved_model.pb").is_file())


@contextlib.contextmanager
def new_version(folder: str | Path, number: int | None) -> Iterator[tuple[int, Path]]:
    """Gives a number and an empty folder to fill, which takes its place once it is whole.

    Args:
      folder: of the model; made if need be.
      number: None = one more than the highest there.

    Raises:
      ValueError: a version of that number exists, or it is not positive.
    """
    folder = Path(folder)
    if number is None:
        number = max(versions_in(folder), default=0) + 1
    if number < 1:
        raise ValueError(f"version is {number}; versions count from 1")
    with whole_folder(folder / str(number), False, (), "a version of a served model") as new:
        yield number, new


def find_version(path: str | Path) -> Path:
    """The folder of a version: the path itself, or the highest number below it.

    Raises:
      ValueError: there is none.
    """
    path = Path(path)
    if (path / "saved_model.pb").is_file():
        return path
    found = versions_in(path)
    if not found:
        raise ValueError(
            f"{path}: no exported model; write one with electra-tf export MODEL --out {path}"
        )
    return path / str(found[-1])
