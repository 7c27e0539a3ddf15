"""Any model into any format: read, written under a temporary name, put in place."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from electra_tf.config import PretrainConfig, load_config
from electra_tf.encoder_folder import EncoderFolder, Kind, parameter_count
from electra_tf.exchange.recognise import recognise
from electra_tf.pretrain.run_folder import CHECKPOINTS, CONFIG
from electra_tf.whole_folder import whole_folder
from electra_tf.workflows.model_writers import Folders, Target, writer_of
from electra_tf.workflows.models import Account, Component, Network, open_foreign, read_networks

if TYPE_CHECKING:
    from electra_tf.exchange.moments import Moments


class Conversion(NamedTuple):
    """What was read and written.

    Fields:
      out: the folder that was written.
      accounts: network → what became of its arrays.
      notes: what the format has to tell about the result.
    """

    out: Path
    accounts: dict[Kind, Account]
    notes: tuple[str, ...]


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
    writer = writer_of(target)
    out = Path(out)
    if out.exists() and not overwrite:
        raise ValueError(f"{out}: exists already; give another folder, or --force to replace it")
    with whole_folder(out, overwrite, writer.own_files, writer.what) as new:
        networks = read_networks(source, component, other, vocabulary)
        if len(networks) == 2 and not writer.is_for_pairs:
            networks = {"discriminator": _alone(networks, component, target)}
        folders = {kind: add_provenance(network, source) for kind, network in networks.items()}
        moments = _read_moments(source, folders) if with_optimizer else None
        notes = writer.write(new, folders, moments)
    accounts = {kind: network.account for kind, network in networks.items()}
    return Conversion(out, accounts, notes)


def _alone(
    networks: Mapping[Kind, Network], component: Component | None, target: Target
) -> Network:
    """The discriminator, the one to fine-tune, for formats that hold one network."""
    if component == "both":
        raise ValueError(f"{target} holds one network; give --component discriminator or generator")
    return networks["discriminator"]


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


def add_provenance(
    network: Network, source: str | Path, made_by: str = "electra-tf convert"
) -> EncoderFolder:
    """The network, and with it where it came from, in what files and how it was read."""
    folder, account = network
    count = parameter_count(folder.config, folder.kind)
    provenance: dict[str, Any] = {
        "made_by": made_by,
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
