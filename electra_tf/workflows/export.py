"""A model as a SavedModel that a stock TensorFlow Serving loads and that answers raw text.

export("runs/demo", "models/detect")
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, NamedTuple

from chinese.model_inputs import TextToInputs
from electra_tf.encoder_folder import to_json
from electra_tf.network.pretrained import build_discriminator
from electra_tf.serving.answers import Answers, Detection
from electra_tf.serving.saved_model import write_saved_model
from electra_tf.serving.versions import EXTRA, new_version
from electra_tf.workflows.text_model import read_text_model

RECORD = "export.json"
_NAME = re.compile("[A-Za-z0-9_-]+")


class Servable(NamedTuple):
    """A model ready to be written.

    Fields:
      answers: network and head.
      text_to_inputs: with the tokenizer it was trained with.
      record: what it is and where it comes from, JSON values only.
    """

    answers: Answers
    text_to_inputs: TextToInputs
    record: dict[str, Any]


class Exported(NamedTuple):
    """What was written: the model's folder, the version in it, and its record."""

    folder: Path
    version: int
    record: dict[str, Any]


def export(
    model: str | Path,
    out: str | Path,
    *,
    version: int | None = None,
    name: str | None = None,
    max_length: int | None = None,
    precision: Literal["float32", "bfloat16"] = "float32",
) -> Exported:
    """Writes `OUT/<version>/`, whole or not at all.

    Args:
      model: a run, or a discriminator of any format.
      out: the folder of the served model; versions that stand there stay.
      version: None = one more than the highest there.
      name: what the server will call the model; None = the name of the folder.
      max_length: tokens of an input at most; None = as many as it was trained on.
      precision: type of the operands of matrix products.

    Raises:
      ValueError: no such model, the version exists, or a length beyond the model's positions.
    """
    out = Path(out)
    name = name or out.resolve().name
    if not _NAME.fullmatch(name):
        raise ValueError(f"name is {name!r}; a URL takes letters, digits, _ and - (--name)")
    servable = read_servable(model, max_length, precision)
    record = {"name": name, **servable.record}
    with new_version(out, version) as (number, folder):
        write_saved_model(folder, servable.answers, servable.text_to_inputs)
        (folder / EXTRA).mkdir()
        (folder / EXTRA / RECORD).write_bytes(to_json(record))
    return Exported(out, number, record)


def read_servable(
    path: str | Path,
    max_length: int | None = None,
    precision: Literal["float32", "bfloat16"] = "float32",
) -> Servable:
    """Reads a model and builds what will be served. Args and Raises: as `export`."""
    model = read_text_model(path, "discriminator", "export")
    longest = model.folder.config.max_position_embeddings
    length = max_length or model.max_length
    if length > longest:
        raise ValueError(f"max_length is {length}, but the model has {longest} positions")
    network = build_discriminator(model.folder.config, model.folder.weights, precision)
    record = {
        "task": "detection",
        "model": str(path),
        "precision": precision,
        "max_length": length,
        "tokenizer": model.tokenizer.settings,
    }
    return Servable(Detection(*network), TextToInputs(model.tokenizer, length), record)
