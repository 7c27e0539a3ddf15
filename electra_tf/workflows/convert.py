"""Any model into any format: read, written under a temporary name, and put in place."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from electra_tf.config import PretrainConfig, load_config
from electra_tf.encoder_folder import (
    OWN_FILES,
    PROVENANCE_FILE,
    EncoderFolder,
    Kind,
    parameter_count,
    to_json,
    write_files,
)
from electra_tf.exchange import huggingface
from electra_tf.exchange.recognise import recognise
from electra_tf.pretrain.run_folder import CHECKPOINTS, CONFIG
from electra_tf.whole_folder import whole_folder
from electra_tf.workflows.models import Account, Component, Network, open_foreign, read_networks

if TYPE_CHECKING:
    from electra_tf.exchange.moments import Moments

Target = Literal["encoder", "hf", "tf1"]
TARGETS: tuple[Target, ...] = get_args(Target)

Folders = Mapping[Kind, EncoderFolder]


class Conversion(NamedTuple):
    """What was read and written.

    Fields:
      out: the folder that was written.
      accounts: network → what became of its arrays.
    """

    out: Path
    accounts: dict[Kind, Account]


class _Writer(NamedTuple):
    """A format: what its folder is called, its files, and how networks get into it."""

    what: str
    own_files: tuple[str, ...]
    write: Callable[[Path, Folders, Moments | None], None]


def convert(
    source: str | Path,
    target: Target,
    out: str | Path,
    component: Component | None = None,
    other: str | Path | None = None,
    vocabulary: str | Path | None = None,
    overwrite: bool = False,
    with_optimizer: bool = False,
) -> Conversion:
    """Converts a model.

    Args:
      source, component, other, vocabulary: as `read_networks`.
      target: the format to write.
      out: the folder to write.
      overwrite: replace a folder of this format that stands there.
      with_optimizer: write Adam's moments and the step too; from a run or a TensorFlow 1
        checkpoint that has them, to TensorFlow 1.

    Raises:
      ValueError: as `read_networks`; the target exists or cannot hold the model; there are no
        moments.
      OSError: the disk is full; what stood at `out` still stands there.
    """
    if with_optimizer and target != "tf1":
        raise ValueError(f"--with-optimizer: only tf1 holds Adam's moments, {target} does not")
    writer = _writer(target)
    out = Path(out)
    if out.exists() and not overwrite:
        raise ValueError(f"{out}: exists already; give another folder, or --force to replace it")
    with whole_folder(out, overwrite, writer.own_files, writer.what) as new:
        networks = read_networks(source, component, other, vocabulary)
        folders = {kind: _with_provenance(network, source) for kind, network in networks.items()}
        writer.write(new, folders, _read_moments(source, folders) if with_optimizer else None)
    return Conversion(out, {kind: network.account for kind, network in networks.items()})


def _read_moments(source: str | Path, folders: Folders) -> Moments:
    """Adam's moments of a run, or of a TensorFlow 1 checkpoint that has them."""
    from electra_tf.exchange.moments import moments_of_bundle, moments_of_run

    path = Path(source)
    if (path / CONFIG).is_file():
        optimizer = load_config(PretrainConfig, path / CONFIG).optimizer.name
        if optimizer != "electra_adam":
            raise ValueError(
                f"{path}: was trained with {optimizer}; the reference's trainer would read its "
                f"moments as those of electra_adam, so leave out --with-optimizer"
            )
        return moments_of_run(path / CHECKPOINTS, folders)
    found = recognise(path)
    if [model.format for model in found] == ["google_tf1"]:
        with contextlib.ExitStack() as stack:
            return moments_of_bundle(open_foreign(found[0], stack), folders)
    raise ValueError(
        f"{path}: holds no moments of Adam; a run folder does, and a TensorFlow 1 checkpoint may"
    )


def _with_provenance(network: Network, source: str | Path) -> EncoderFolder:
    folder, account = network
    count = parameter_count(folder.config, folder.kind)
    provenance: dict[str, Any] = {
        "made_by": "electra-tf convert",
        "source": str(source),
        "format": account.what,
        "files": {file.name: _file_facts(file) for file in account.files},
        "sizes": folder.config.model_dump(),
        "parameters": {"backbone": count.backbone, "head": count.head},
        "vocabulary_sha256": hashlib.sha256(folder.vocabulary).hexdigest(),
        "ignored": {reason: list(names) for reason, names in account.ignored.items()},
        "missing": {reason: list(names) for reason, names in account.missing.items()},
        "notes": list(account.notes),
    }
    if folder.provenance:
        provenance["source_provenance"] = folder.provenance
    return replace(folder, provenance=provenance)


def _file_facts(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"sha256": digest.hexdigest(), "bytes": path.stat().st_size}


# --- formats ---------------------------------------------------------------------------------


def _writer(target: Target) -> _Writer:
    if target == "encoder":
        return _Writer("an encoder folder", OWN_FILES, _write_encoders)
    if target == "hf":
        return _Writer("a folder of Hugging Face", huggingface.OWN_FILES, _write_hugging_face)
    from electra_tf.exchange import google_tf1

    return _Writer("a TensorFlow 1 checkpoint", google_tf1.OWN_FILES, _write_google_tf1)


def _write_encoders(path: Path, folders: Folders, moments: None) -> None:
    """One network into the folder itself; two into `encoder` and `generator`, as a run has them."""
    names = {"discriminator": "encoder", "generator": "generator"}
    for kind, folder in folders.items():
        write_files(_place(path, folders, names[kind]), folder)


def _write_hugging_face(path: Path, folders: Folders, moments: None) -> None:
    """One network into the folder itself; two into `discriminator` and `generator`."""
    for kind, folder in folders.items():
        place = _place(path, folders, kind)
        huggingface.write_hugging_face(place, folder)
        (place / PROVENANCE_FILE).write_bytes(to_json(folder.provenance))


def _write_google_tf1(path: Path, folders: Folders, moments: Moments | None) -> None:
    from electra_tf.exchange.google_tf1 import write_google_tf1

    write_google_tf1(path, folders, moments)
    provenance = {kind: folder.provenance for kind, folder in folders.items()}
    (path / PROVENANCE_FILE).write_bytes(to_json(provenance))


def _place(path: Path, folders: Folders, name: str) -> Path:
    if len(folders) == 1:
        return path
    (path / name).mkdir()
    return path / name
