"""The files beside a model that say how text becomes ids, read and written; no tokenizer is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from electra_tf.encoder_folder import EncoderFolder, to_json

VOCABULARY = "vocab.txt"
SENTENCEPIECE = "spiece.model"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
ADDED_TOKENS = "added_tokens.json"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class TokenizerFiles(NamedTuple):
    """What the files beside a model say.

    Fields:
      vocabulary: the bytes of a `vocab.txt` or `spiece.model`; None where there is neither.
      origin: the file it comes from.
      lower_case, strip_accents: how text is folded; BERT's defaults where nothing is said.
      notes: sentences for the user.
    """

    vocabulary: bytes | None
    origin: Path
    lower_case: bool
    strip_accents: bool
    notes: tuple[str, ...]


def read_tokenizer_files(folder: Path) -> TokenizerFiles:
    """Reads vocabulary and folding.

    Raises:
      ValueError: a file is damaged, or describes another tokenizer than WordPiece over Han
        characters standing alone.
    """
    config = read_json(folder / TOKENIZER_CONFIG)
    tokenizer = read_json(folder / TOKENIZER)
    normalizer = (tokenizer or {}).get("normalizer") or {}
    told = {
        "do_lower_case": normalizer.get("lowercase"),
        "strip_accents": normalizer.get("strip_accents"),
        "tokenize_chinese_chars": normalizer.get("handle_chinese_chars"),
    } | (config or {})
    if told["tokenize_chinese_chars"] is False:
        raise ValueError(
            f"{folder}: its tokenizer leaves Han characters joined (tokenize_chinese_chars is "
            f"false); here each stands alone, so ids would differ"
        )
    notes = []
    if told["do_lower_case"] is None:
        notes.append("nothing says whether text is lower-cased; taken as lower-cased, as BERT is")
    lower_case = told["do_lower_case"] is not False
    strip_accents = lower_case and told["strip_accents"] is not False
    origin, vocabulary = _read_vocabulary(folder, tokenizer)
    return TokenizerFiles(vocabulary, origin, lower_case, strip_accents, tuple(notes))


def _read_vocabulary(
    folder: Path, tokenizer: Mapping[str, Any] | None
) -> tuple[Path, bytes | None]:
    path = folder / VOCABULARY
    if path.is_file():
        content, added = path.read_bytes(), read_json(folder / ADDED_TOKENS)
        if not added:
            return path, content
        tokens = content.removesuffix(b"\n").split(b"\n")
        new = {id_: token for token, id_ in added.items() if id_ >= len(tokens)}
        return path, _lines(dict(enumerate(tokens)) | {i: t.encode() for i, t in new.items()}, path)
    if (folder / SENTENCEPIECE).is_file():
        return folder / SENTENCEPIECE, (folder / SENTENCEPIECE).read_bytes()
    if tokenizer is None:
        return path, None
    path = folder / TOKENIZER
    model = tokenizer.get("model") or {}
    if model.get("type") != "WordPiece":
        raise ValueError(f"{path}: holds a {model.get('type')} tokenizer; WordPiece is supported")
    ids = model["vocab"] | {
        entry["content"]: entry["id"] for entry in tokenizer.get("added_tokens") or ()
    }
    return path, _lines({id_: token.encode() for token, id_ in ids.items()}, path)


def _lines(tokens: Mapping[int, bytes], path: Path) -> bytes:
    gaps = sorted(set(range(len(tokens))) - tokens.keys())
    if gaps:
        raise ValueError(f"{path}: no token has id {gaps[0]}")
    return b"".join(tokens[index] + b"\n" for index in range(len(tokens)))


def write_vocabulary(path: Path, folder: EncoderFolder) -> None:
    """Writes the vocabulary, and how text is folded.

    The spelling is one that all versions of `AutoTokenizer` read with no further file.
    """
    (path / folder.vocabulary_file).write_bytes(folder.vocabulary)
    config = {
        "do_lower_case": folder.tokenizer_settings["lower_case"],
        "strip_accents": folder.tokenizer_settings["strip_accents"],
        "model_max_length": folder.config.max_position_embeddings,
        **{f"{token[1:-1].lower()}_token": token for token in SPECIAL_TOKENS},
    }
    if folder.vocabulary_file == VOCABULARY:
        config |= {"tokenizer_class": "BertTokenizer", "tokenize_chinese_chars": True}
    (path / TOKENIZER_CONFIG).write_bytes(to_json(config))


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None where there is no file."""
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: must hold an object, found {type(value).__name__}")
    return value
