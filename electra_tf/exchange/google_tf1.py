"""Checkpoints of TensorFlow 1: google-research/electra, HFL and BERT read, ELECTRA written.

A checkpoint is a bundle `PREFIX.index` and `PREFIX.data-…`, in which tensors are found by the
names of the variables; a file `checkpoint` beside it names the newest.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from electra_tf.encoder_folder import Kind, to_json
from electra_tf.exchange.huggingface import hugging_face_config
from electra_tf.exchange.moments import Folders, Moments
from electra_tf.exchange.name_rules import (
    BERT_IGNORED,
    GOOGLE_IGNORED,
    NameTable,
    google_bert,
    google_discriminator,
    google_generator,
)
from electra_tf.exchange.recognise import STATE
from electra_tf.exchange.tokenizer_files import (
    SENTENCEPIECE,
    TOKENIZER_CONFIG,
    VOCABULARY,
    read_json,
    write_vocabulary,
)
from electra_tf.exchange.translate import Source
from electra_tf.whole_folder import DISK_FULL

PREFIX = "model.ckpt"
# What is written; what is read may have other roots.
TABLES: Mapping[Kind, NameTable] = {
    "discriminator": google_discriminator(),
    "generator": google_generator(),
}
CONFIGS: Mapping[Kind, str] = {
    "discriminator": "discriminator.json",
    "generator": "generator.json",
}
OWN_FILES = (
    STATE,
    f"{PREFIX}*",
    *CONFIGS.values(),
    VOCABULARY,
    SENTENCEPIECE,
    TOKENIZER_CONFIG,
    "provenance.json",
)
# What configs of one network are called; the first that is there is read.
_OTHER_CONFIGS = ("config.json", "electra_config.json", "bert_config.json")


# What TensorFlow's checkpoint reader raises, by the kind of damage.
_UNREADABLE = (tf.errors.OpError, IndexError, RuntimeError, ValueError)


# --- reading ---------------------------------------------------------------------------------


def open_google_tf1(prefix: Path) -> Source:
    """Opens a bundle.

    Args:
      prefix: as `recognise` gives it.

    Raises:
      ValueError: the index is damaged, a data file is missing, or it is another kind of model.
    """
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = {k: tuple(v) for k, v in reader.get_variable_to_shape_map().items()}
    except _UNREADABLE as error:
        raise ValueError(f"{prefix}: damaged ({_first_line(error)}); fetch it again") from None

    def read(name: str) -> np.ndarray:
        try:
            array = np.asarray(reader.get_tensor(name))
        except _UNREADABLE as error:
            raise ValueError(
                f"{prefix}: {name} cannot be read ({_first_line(error)}); a data file is cut or "
                f"missing, fetch it again"
            ) from None
        return array if array.dtype.kind == "i" else array.astype(np.float32, copy=False)

    # Both networks ask for these; they stand in memory once.
    read_shared = functools.cache(read)
    family, tables = _tables(shapes, prefix)
    files = sorted(f for f in prefix.parent.glob(f"{prefix.name}.*") if f.suffix != ".meta")
    configs, config_files = _read_configs(prefix.parent, tables)
    return Source(
        what=f"TensorFlow 1 checkpoint, {family}",
        path=prefix,
        files=(*config_files, *files),
        shapes=shapes,
        read=lambda name: (read_shared if name.startswith("electra/embeddings/") else read)(name),
        tables=tables,
        ignored=GOOGLE_IGNORED + (BERT_IGNORED if family == "BERT" else ()),
        configs=configs,
    )


def _first_line(error: Exception) -> str:
    return str(getattr(error, "message", error)).splitlines()[0]


def _tables(names: Mapping[str, Any], prefix: Path) -> tuple[str, dict[Kind, NameTable]]:
    def holds(start: str) -> bool:
        return any(name.startswith(start) for name in names)

    tables: dict[Kind, NameTable] = {}
    if holds("electra/encoder/"):
        tables["discriminator"] = google_discriminator()
    if holds("generator_predictions/dense/"):
        tables["generator"] = google_generator(
            embeddings="generator" if holds("generator/embeddings/") else "electra",
            encoder="generator" if holds("generator/encoder/") else "electra",
        )
    if tables:
        return "ELECTRA", tables
    if holds("bert/encoder/"):
        tables["discriminator"] = google_bert(with_head=False)
        if holds("cls/predictions/transform/"):
            tables["generator"] = google_bert(with_head=True)
        return "BERT", tables
    shown = ", ".join(sorted(names)[:3])
    raise ValueError(
        f"{prefix}: holds neither electra/encoder/… nor bert/encoder/… (but {shown} …); only "
        f"ELECTRA and BERT are read by name. An object-based checkpoint of TensorFlow 2 is none"
    )


def _read_configs(
    folder: Path, tables: Mapping[Kind, Any]
) -> tuple[dict[Kind, Mapping[str, Any]], list[Path]]:
    configs, files = {}, []
    for kind in tables:
        for name in (CONFIGS[kind], *_OTHER_CONFIGS):
            if config := read_json(folder / name):
                configs[kind] = config
                files.append(folder / name)
                break
    return configs, sorted(set(files))


# --- writing ---------------------------------------------------------------------------------


def write_google_tf1(path: Path, folders: Folders, moments: Moments | None = None) -> None:
    """Writes one network, or both over one block of embeddings, as HFL publishes them.

    Args:
      path: an empty folder.
      folders: the networks; two must share their embeddings.
      moments: of Adam; with them and a `global_step` the reference's trainer goes on from here.
    """
    arrays = _under_their_names({kind: folder.weights for kind, folder in folders.items()})
    prefix = path / PREFIX
    if moments is not None:
        for slot, networks in moments.slots.items():
            their_slots = _under_their_names(networks)
            arrays |= {f"{name}/{slot}": array for name, array in their_slots.items()}
        arrays["global_step"] = np.asarray(moments.step, np.int64)
        prefix = path / f"{PREFIX}-{moments.step}"
    save_bundle(prefix, arrays)
    for kind, folder in folders.items():
        (path / CONFIGS[kind]).write_bytes(to_json(hugging_face_config(folder)))
    write_vocabulary(path, next(iter(folders.values())))


def _under_their_names(
    networks: Mapping[Kind, Mapping[str, np.ndarray]],
) -> dict[str, np.ndarray]:
    return {
        TABLES[kind].to_theirs(ours).theirs: array
        for kind, arrays in networks.items()
        for ours, array in arrays.items()
    }


def save_bundle(prefix: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes named arrays as TensorFlow 1's Saver would, and the `checkpoint` file beside them.

    Raises:
      OSError: the disk is full, or the file could not be written for another reason.
    """
    names = sorted(arrays)
    with system_errors(prefix):
        tf.raw_ops.SaveV2(
            prefix=str(prefix),
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=[_without_copy(arrays[name]) for name in names],
        )
    lines = (
        f'model_checkpoint_path: "{prefix.name}"',
        f'all_model_checkpoint_paths: "{prefix.name}"',
    )
    (prefix.parent / STATE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _without_copy(array: np.ndarray) -> tf.Tensor:
    """A tensor over the array's own memory, so that no second model stands in it."""
    if not array.flags.c_contiguous or not array.flags.writeable or array.ndim == 0:
        return tf.constant(array)
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


@contextlib.contextmanager
def system_errors(path: Path) -> Iterator[None]:
    """Turns what TensorFlow raises while it writes into the system's error behind it."""
    try:
        yield
    except tf.errors.OpError as error:
        for number in DISK_FULL:
            if os.strerror(number) in error.message:
                raise OSError(number, os.strerror(number), str(path)) from None
        raise OSError(f"{path}: not written ({_first_line(error)})") from None
