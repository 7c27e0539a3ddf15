"""A pre-trained network together with its tokenizer, read from disk."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from chinese.tokenizer import Tokenizer
from chinese.vocab import parse_vocabulary
from electra_tf.encoder_folder import EncoderFolder, Kind, read_encoder_folder
from electra_tf.exchange.recognise import recognise
from electra_tf.pretrain.run_folder import CONFIG, ENCODER, GENERATOR
from electra_tf.workflows.models import read_any

_PLACE = {"discriminator": ENCODER, "generator": GENERATOR}


class TextModel(NamedTuple):
    """What is needed to go from text to a network and back.

    Fields:
      folder: config, weights and provenance.
      tokenizer: the one it was trained with.
      max_length: tokens it was trained on at most, [CLS] and [SEP] included. Positions beyond are
        in the table but were never trained.
    """

    folder: EncoderFolder
    tokenizer: Tokenizer
    max_length: int


def read_text_model(path: str | Path, kind: Kind, purpose: str) -> TextModel:
    """Reads a model; of a run folder, or of a pair, the one of the two networks that is needed.

    Args:
      path: a run folder with finished networks, or a model of any format `read_any` knows.
      kind: the network that is needed.
      purpose: what for, for the error: `detect`.

    Raises:
      ValueError: nothing readable is there, or the other network.
    """
    path = Path(path)
    if (path / CONFIG).is_file():
        path = path / _PLACE[kind]
        if not path.is_dir():
            raise ValueError(
                f"{path.parent}: this run has not written its networks yet; run `electra-tf "
                f"pretrain` with the same options to its end"
            )
    found = recognise(path)
    if [model.format for model in found] == ["encoder"]:
        folder = read_encoder_folder(found[0].path)
        if folder.kind != kind:
            other = path.with_name(_PLACE[kind])
            hint = f"; the {kind} stands beside it: {other}" if other.is_dir() else ""
            raise ValueError(f"{path}: holds a {folder.kind}, but {purpose} needs a {kind}{hint}")
    else:
        folder = read_any(path, kind)
    return TextModel(folder, _tokenizer(folder), _trained_length(folder))


def with_special_ids(tokenizer: Tokenizer, ids: np.ndarray) -> np.ndarray:
    """int32 [n + 2]: [CLS], the tokens, [SEP]."""
    vocabulary = tokenizer.vocabulary
    return np.concatenate([[vocabulary.cls_id], ids, [vocabulary.sep_id]]).astype(np.int32)


def _tokenizer(folder: EncoderFolder) -> Tokenizer:
    vocabulary = parse_vocabulary(folder.vocabulary, folder.vocabulary_file)
    settings = folder.tokenizer_settings
    return Tokenizer(vocabulary, settings["lower_case"], settings["strip_accents"])


def _trained_length(folder: EncoderFolder) -> int:
    """Our own runs write their config down; others are taken to have used the whole table."""
    data = folder.provenance.get("config", {}).get("data", {})
    longest = folder.config.max_position_embeddings
    return min(data.get("max_length", longest), longest)
