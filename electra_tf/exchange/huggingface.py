"""Folders of Hugging Face transformers: ELECTRA and BERT read, ELECTRA written."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors

from electra_tf.encoder_folder import (
    EncoderFolder,
    Kind,
    parameter_count,
    to_json,
    write_arrays,
)
from electra_tf.exchange.name_rules import (
    BERT_IGNORED,
    HUGGING_FACE_IGNORED,
    NameTable,
    hugging_face_bert,
    hugging_face_discriminator,
    hugging_face_generator,
)
from electra_tf.exchange.tokenizer_files import (
    TOKENIZER_CONFIG,
    VOCABULARY,
    read_json,
    write_vocabulary,
)
from electra_tf.exchange.torch_files import open_torch_file, widen_bfloat16
from electra_tf.exchange.translate import Source

CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
TORCH = "pytorch_model.bin"
INDEX = ".index.json"
CARD = "README.md"
OWN_FILES = (CONFIG, SAFETENSORS, VOCABULARY, TOKENIZER_CONFIG, CARD, "provenance.json")

TABLES: Mapping[Kind, NameTable] = {
    "discriminator": hugging_face_discriminator(),
    "generator": hugging_face_generator(),
}
# What safetensors and our reader of PyTorch's files call the types that a note names.
_TYPES = {
    "F16": "float16",
    "BF16": "bfloat16",
    "F64": "float64",
    "<f2": "float16",
    "<f8": "float64",
}
ARCHITECTURES = {"discriminator": "ElectraForPreTraining", "generator": "ElectraForMaskedLM"}


# --- reading ---------------------------------------------------------------------------------


class _Tensors(NamedTuple):
    """Name → shape, type and how to read it, over all files of a folder."""

    shapes: dict[str, tuple[int, ...]]
    types: set[str]
    read: dict[str, Callable[[], np.ndarray]]


def is_hugging_face(folder: Path) -> bool:
    """True if a folder holds weights in one of the files transformers writes."""
    return any(
        (folder / (name + end)).is_file() for name in (SAFETENSORS, TORCH) for end in ("", INDEX)
    )


def open_hugging_face(folder: Path, stack: contextlib.ExitStack) -> Source:
    """Opens a folder with ElectraForPreTraining, ElectraForMaskedLM or a BERT.

    Args:
      folder: with config.json and model.safetensors or pytorch_model.bin, in one piece or sharded.
      stack: closes the files in the end.

    Raises:
      ValueError: a file is missing, cut or refused, or it is another kind of model.
    """
    files = _weight_files(folder)
    tensors = _Tensors({}, set(), {})
    for path in files:
        (_open_safetensors if path.suffix == ".safetensors" else _open_torch)(path, stack, tensors)
    config = read_json(folder / CONFIG)
    family = (config or {}).get("model_type") or _family(tensors.shapes)
    if family not in ("electra", "bert"):
        raise ValueError(f"{folder}: is a {family} model; ELECTRA and BERT can be read")
    theirs = {_usual_name(name, family): name for name in tensors.shapes}
    types = sorted(tensors.types & {"float16", "bfloat16", "float64"})
    return Source(
        what=f"Hugging Face folder, {family.upper()}",
        path=folder,
        files=(*([folder / CONFIG] if config else []), *files),
        shapes={usual: tensors.shapes[name] for usual, name in theirs.items()},
        read=lambda usual: tensors.read[theirs[usual]](),
        tables=_tables(theirs, family),
        ignored=HUGGING_FACE_IGNORED + (BERT_IGNORED if family == "bert" else ()),
        configs=dict.fromkeys(TABLES, config) if config else {},
        notes=(f"numbers of type {', '.join(types)} read as float32",) if types else (),
    )


def _weight_files(folder: Path) -> tuple[Path, ...]:
    for name in (SAFETENSORS, TORCH):
        if (folder / name).is_file():
            return (folder / name,)
        index = folder / (name + INDEX)
        if index.is_file():
            names = sorted(set((read_json(index) or {}).get("weight_map", {}).values()))
            if not names or any(Path(name).name != name for name in names):
                raise ValueError(f"{index}: names no files of this folder in weight_map")
            missing = [name for name in names if not (folder / name).is_file()]
            if missing:
                raise ValueError(
                    f"{folder}: {len(missing)} of {len(names)} shards are missing: "
                    f"{', '.join(missing)}; fetch them too"
                )
            return tuple(folder / name for name in names)
    raise ValueError(f"{folder}: holds neither {SAFETENSORS} nor {TORCH}")


def _open_safetensors(path: Path, stack: contextlib.ExitStack, into: _Tensors) -> None:
    try:
        file = stack.enter_context(safetensors.safe_open(path, "numpy", backend="pread"))
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path}: truncated or damaged ({error}); fetch it again") from None
    header = _header(path)
    for name in file.keys():  # noqa: SIM118 – not a dict
        view = file.get_slice(name)
        kind = view.get_dtype()
        into.shapes[name] = tuple(view.get_shape())
        into.types.add(_TYPES.get(kind, kind))
        if kind == "BF16":  # NumPy has no such type
            into.read[name] = lambda entry=header[name]: _read_bfloat16(path, entry)
        else:
            into.read[name] = lambda name=name: file.get_tensor(name).astype(np.float32, copy=False)


def _header(path: Path) -> dict[str, Any]:
    """The entries of a file that safetensors has checked; its offsets made absolute."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entries = json.loads(file.read(size))
    entries.pop("__metadata__", None)
    return {
        name: (8 + size + entry["data_offsets"][0], entry["shape"])
        for name, entry in entries.items()
    }


def _read_bfloat16(path: Path, entry: tuple[int, list[int]]) -> np.ndarray:
    place, shape = entry
    halves = np.fromfile(path, "<u2", int(np.prod(shape)), offset=place)
    return widen_bfloat16(halves).reshape(shape)


def _open_torch(path: Path, stack: contextlib.ExitStack, into: _Tensors) -> None:
    file = open_torch_file(path, stack)
    into.shapes.update(file.shapes)
    into.types.update(_TYPES.get(kind, kind) for kind in file.types.values())
    into.read.update({name: (lambda name=name: file.read(name)) for name in file.shapes})


def _usual_name(name: str, family: str) -> str:
    """Old names, and names of a bare model saved without its head, in today's spelling."""
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    is_bare = re.match(r"(embeddings|embeddings_project|encoder|pooler)\.", name)
    return f"{family}.{name}" if is_bare else name


def _family(names: Mapping[str, Any]) -> str:
    """Where no config.json says it."""
    for family in ("electra", "bert"):
        if any(name.startswith(f"{family}.") for name in names):
            return family
    return "unknown"


def _tables(names: Mapping[str, Any], family: str) -> dict[Kind, NameTable]:
    if family == "electra":
        is_generator = any(name.startswith("generator_") for name in names)
        kind: Kind = "generator" if is_generator else "discriminator"
        return {kind: TABLES[kind]}
    has_head = any(name.startswith("cls.predictions.transform.") for name in names)
    tables: dict[Kind, NameTable] = {"discriminator": hugging_face_bert(with_head=False)}
    return tables | ({"generator": hugging_face_bert(with_head=True)} if has_head else {})


# --- writing ---------------------------------------------------------------------------------


def write_hugging_face(path: Path, folder: EncoderFolder) -> None:
    """Writes one network so that transformers' Auto classes load it with no further step.

    Args:
      path: an empty folder.
      folder: the network.

    Raises:
      ValueError: its vocabulary is not a `vocab.txt`.
    """
    if folder.vocabulary_file != VOCABULARY:
        raise ValueError(
            f"the vocabulary is a {folder.vocabulary_file}; Hugging Face's ELECTRA tokenizer is "
            f"WordPiece, so only models with a {VOCABULARY} can be written"
        )
    table = TABLES[folder.kind]
    arrays = {}
    for ours, array in folder.weights.items():
        rule = table.to_theirs(ours)
        arrays[rule.theirs] = array.T if rule.transposed else array
    write_arrays(path / SAFETENSORS, arrays, {"format": "pt"})
    (path / CONFIG).write_bytes(to_json(hugging_face_config(folder)))
    write_vocabulary(path, folder)
    (path / CARD).write_text(_card(folder), encoding="utf-8")


def hugging_face_config(folder: EncoderFolder) -> dict[str, Any]:
    """`ElectraConfig` of a network; Google's and HFL's JSON have the same keys."""
    config = folder.config
    return {
        "architectures": [ARCHITECTURES[folder.kind]],
        "model_type": "electra",
        "vocab_size": config.vocab_size,
        "embedding_size": config.embedding_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "intermediate_size": config.intermediate_size,
        "max_position_embeddings": config.max_position_embeddings,
        "type_vocab_size": config.type_vocab_size,
        "hidden_act": "gelu",
        "hidden_dropout_prob": config.hidden_dropout_rate,
        "attention_probs_dropout_prob": config.attention_dropout_rate,
        "initializer_range": config.initializer_stddev,
        "layer_norm_eps": config.layer_norm_epsilon,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
        # Defaults of ElectraForMultipleChoice; older versions want them written.
        "summary_type": "first",
        "summary_use_proj": True,
        "summary_activation": "gelu",
        "summary_last_dropout": 0.1,
    }


def _card(folder: EncoderFolder) -> str:
    config, count = folder.config, parameter_count(folder.config, folder.kind)
    auto, job = {
        "discriminator": ("AutoModelForPreTraining", "says of every token whether it was replaced"),
        "generator": ("AutoModelForMaskedLM", "fills [MASK]"),
    }[folder.kind]
    pipeline = "pipeline_tag: fill-mask\n" if folder.kind == "generator" else ""
    folding = "lower-cased" if folder.tokenizer_settings["lower_case"] else "cased"
    return f"""---
language: zh
library_name: transformers
{pipeline}tags:
- electra
---

# ELECTRA {folder.kind}

This {folder.kind} {job}. Written by electra-tf; `provenance.json` tells where the weights come
from.

| | |
| --- | --- |
| layers | {config.num_hidden_layers} |
| hidden size, heads | {config.hidden_size}, {config.num_attention_heads} |
| embedding size | {config.embedding_size} |
| parameters | {count.backbone:,}, and {count.head:,} of the head |
| vocabulary | {config.vocab_size:,} WordPiece tokens, {folding} |
| longest input | {config.max_position_embeddings} tokens |

```python
from transformers import {auto}, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("PATH_OF_THIS_FOLDER")
model = {auto}.from_pretrained("PATH_OF_THIS_FOLDER")
```

Hand the tokenizer's `attention_mask` to the model where texts are padded.
"""
