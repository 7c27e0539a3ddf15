"""The formats a model can be written in, one writer each; TensorFlow only where one needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from electra_tf.encoder_folder import (
    OWN_FILES,
    PROVENANCE_FILE,
    EncoderFolder,
    Kind,
    to_json,
    write_files,
)
from electra_tf.exchange import huggingface

if TYPE_CHECKING:
    from electra_tf.exchange.moments import Moments

Target = Literal["encoder", "hf", "tf1", "model-garden", "keras-hub"]
TARGETS: tuple[Target, ...] = get_args(Target)

Folders = Mapping[Kind, EncoderFolder]
Notes = tuple[str, ...]


class Writer(NamedTuple):
    """A format.

    Fields:
      what: what its folder is called.
      own_files: names of the files such a folder may hold.
      write: fills an empty folder with networks, and Adam's moments where it can hold them; gives
        sentences for the user.
      is_for_pairs: True if it can hold both networks.
    """

    what: str
    own_files: tuple[str, ...]
    write: Callable[[Path, Folders, Moments | None], Notes]
    is_for_pairs: bool = True


def writer_of(target: Target) -> Writer:
    """The writer of a format."""
    if target == "encoder":
        return Writer("an encoder folder", OWN_FILES, _write_encoders)
    if target == "hf":
        return Writer("a folder of Hugging Face", huggingface.OWN_FILES, _write_hugging_face)
    if target == "tf1":
        from electra_tf.exchange import google_tf1

        return Writer("a TensorFlow 1 checkpoint", google_tf1.OWN_FILES, _write_google_tf1)
    if target == "model-garden":
        from electra_tf.exchange import model_garden

        what = "a checkpoint of Model Garden"
        return Writer(what, model_garden.OWN_FILES, _write_model_garden, is_for_pairs=False)
    from electra_tf.exchange import keras_hub

    what = "a preset of KerasHub"
    return Writer(what, keras_hub.OWN_FILES, _write_keras_hub, is_for_pairs=False)


def _write_encoders(path: Path, folders: Folders, moments: None) -> Notes:
    """One network into the folder itself; two into `encoder` and `generator`, as a run has them."""
    names = {"discriminator": "encoder", "generator": "generator"}
    for kind, folder in folders.items():
        write_files(_place(path, folders, names[kind]), folder)
    return ()


def _write_hugging_face(path: Path, folders: Folders, moments: None) -> Notes:
    """One network into the folder itself; two into `discriminator` and `generator`."""
    for kind, folder in folders.items():
        place = _place(path, folders, kind)
        huggingface.write_hugging_face(place, folder)
        (place / PROVENANCE_FILE).write_bytes(to_json(folder.provenance))
    return ()


def _place(path: Path, folders: Folders, name: str) -> Path:
    if len(folders) == 1:
        return path
    (path / name).mkdir()
    return path / name


def _write_google_tf1(path: Path, folders: Folders, moments: Moments | None) -> Notes:
    from electra_tf.exchange.google_tf1 import write_google_tf1

    write_google_tf1(path, folders, moments)
    provenance = {kind: folder.provenance for kind, folder in folders.items()}
    (path / PROVENANCE_FILE).write_bytes(to_json(provenance))
    return ()


def _write_model_garden(path: Path, folders: Folders, moments: None) -> Notes:
    from electra_tf.exchange.model_garden import write_model_garden

    return _write_one(write_model_garden, path, folders)


def _write_keras_hub(path: Path, folders: Folders, moments: None) -> Notes:
    from electra_tf.exchange.keras_hub import write_keras_hub

    return _write_one(write_keras_hub, path, folders)


def _write_one(
    write: Callable[[Path, EncoderFolder], Notes], path: Path, folders: Folders
) -> Notes:
    """The one network, and what was told about it beside where it comes from."""
    (folder,) = folders.values()
    notes = write(path, folder)
    provenance = folder.provenance | {"warnings": list(notes)}
    (path / PROVENANCE_FILE).write_bytes(to_json(provenance))
    return notes
