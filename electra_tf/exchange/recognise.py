"""What kind of model lies at a path. Nothing is opened, TensorFlow is not needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

from electra_tf.encoder_folder import CONFIG_FILE, WEIGHTS_FILE
from electra_tf.exchange.tokenizer_files import read_json

Format = Literal["encoder", "hugging_face", "google_tf1"]

STATE = "checkpoint"
_HUGGING_FACE_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


class NothingKnown(ValueError):
    """There is something, but no model."""


class Found(NamedTuple):
    """One model: its format, and its folder or the prefix of its bundle."""

    format: Format
    path: Path


def recognise(path: str | Path) -> list[Found]:
    """Finds the model at a path, or the models in the folders right below it.

    Args:
      path: a folder, a file of it, or the prefix of a TensorFlow 1 bundle.

    Raises:
      ValueError: there is nothing, nothing that is known, or several bundles and no `checkpoint`
        file that chooses.
    """
    path = Path(path)
    if not path.is_dir():
        if prefix := _bundle_of(path):
            return [Found("google_tf1", prefix)]
        if not path.exists():
            raise ValueError(f"{path}: does not exist")
        if path.name not in _HUGGING_FACE_WEIGHTS:
            raise NothingKnown(f"{path}: is no model; {_known()}")
        path = path.parent
    if format_ := _folder_format(path):
        return [Found(format_, path)]
    if prefix := _newest_bundle(path):
        return [Found("google_tf1", prefix)]
    below = sorted(child for child in path.iterdir() if child.is_dir() and child.name[0] != ".")
    found = [Found(format_, child) for child in below if (format_ := _folder_format(child))]
    if not found:
        raise NothingKnown(f"{path}: holds no model; {_known()}")
    return found


def _known() -> str:
    return (
        "known are encoder folders (config.json, model.safetensors, vocab.txt), runs, folders of "
        "Hugging Face (config.json with model.safetensors or pytorch_model.bin), and TensorFlow 1 "
        "checkpoints (the path without .index)"
    )


def _folder_format(folder: Path) -> Format | None:
    if not any((folder / name).is_file() for name in _HUGGING_FACE_WEIGHTS):
        return None
    is_ours = (folder / WEIGHTS_FILE).is_file() and "kind" in (
        read_json(folder / CONFIG_FILE) or {}
    )
    return "encoder" if is_ours else "hugging_face"


def _bundle_of(path: Path) -> Path | None:
    prefix = path.with_name(re.sub(r"\.(index|meta|data-\d+-of-\d+)$", "", path.name))
    return prefix if prefix.with_name(f"{prefix.name}.index").is_file() else None


def _newest_bundle(folder: Path) -> Path | None:
    prefixes = sorted(p.with_name(p.name.removesuffix(".index")) for p in folder.glob("*.index"))
    if len(prefixes) < 2:
        return prefixes[0] if prefixes else None
    state = folder / STATE
    named = state.is_file() and re.search(
        r'^model_checkpoint_path: "(?:.*[/\\])?([^/\\]+)"', state.read_text(), re.MULTILINE
    )
    # Only the last part of what it names: the rest is a path on the machine that trained.
    if named and folder / named.group(1) in prefixes:
        return folder / named.group(1)
    names = ", ".join(prefix.name for prefix in prefixes)
    raise ValueError(f"{folder}: holds several checkpoints, name one of them: {names}")
