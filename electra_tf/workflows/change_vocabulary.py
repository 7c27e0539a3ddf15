"""A model over a longer or a shorter vocabulary: both networks, tokens and rows together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chinese.vocab import Vocabulary, parse_vocabulary
from chinese.vocab_changes import (
    VocabularyChange,
    extend_vocabulary,
    trim_vocabulary,
    unreachable_tokens,
)
from electra_tf.encoder_folder import IDS_FILE, OWN_FILES, EncoderFolder, to_json
from electra_tf.exchange.vocabulary_rows import change_rows
from electra_tf.whole_folder import whole_folder
from electra_tf.workflows.convert import add_provenance
from electra_tf.workflows.model_writers import writer_of
from electra_tf.workflows.models import read_networks


class ChangedModel(NamedTuple):
    """What was written.

    Fields:
      out: the folder: one network, or `encoder` and `generator`.
      networks: the kinds of networks in it.
      old_size, new_size: tokens of the vocabulary.
      reused: new tokens in places of `[unusedN]`.
      added: new tokens behind the last one.
      removed: tokens that are gone, the `[unusedN]` that gave way not counted.
    """

    out: Path
    networks: tuple[str, ...]
    old_size: int
    new_size: int
    reused: int
    added: int
    removed: int


def extend_model(
    model: str | Path, tokens: Sequence[str], out: str | Path, overwrite: bool = False
) -> ChangedModel:
    """Adds tokens to a model; their rows are the means of the pieces they replace.

    Args:
      model: of any format `read_networks` knows, one network or both.
      tokens: see `extend_vocabulary`.
      out: the folder to write: encoder folders, as a conversion would.
      overwrite: replace such a folder.

    Raises:
      ValueError: as `read_networks` and `extend_vocabulary`; the target exists.
    """

    def extend(vocabulary: Vocabulary, folder: EncoderFolder) -> VocabularyChange:
        settings = folder.tokenizer_settings
        return extend_vocabulary(
            vocabulary, tokens, settings["lower_case"], settings["strip_accents"]
        )

    return _change(model, extend, out, overwrite, "electra-tf vocab extend")


def trim_model(
    model: str | Path,
    tokens: Sequence[str] | None,
    out: str | Path,
    overwrite: bool = False,
) -> ChangedModel:
    """Takes tokens out of a model.

    Args:
      model, out, overwrite: as `extend_model`.
      tokens: None = those that no text can give, see `unreachable_tokens`.

    Raises:
      ValueError: as `read_networks` and `trim_vocabulary`; the target exists.
    """

    def trim(vocabulary: Vocabulary, _: EncoderFolder) -> VocabularyChange:
        chosen = unreachable_tokens(vocabulary) if tokens is None else tokens
        if not chosen:
            raise ValueError(f"{model}: has no ## piece with a Han character; name tokens (--drop)")
        return trim_vocabulary(vocabulary, chosen)

    return _change(model, trim, out, overwrite, "electra-tf vocab trim")


def read_tokens(path: str | Path) -> list[str]:
    """Tokens from a file, one a line."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    return [token for line in lines if (token := line.strip(" \t\r"))]


def _change(
    model: str | Path,
    decide: Callable[[Vocabulary, EncoderFolder], VocabularyChange],
    out: str | Path,
    overwrite: bool,
    made_by: str,
) -> ChangedModel:
    out = Path(out)
    if out.exists() and not overwrite:
        raise ValueError(f"{out}: exists already; give another folder, or --force to replace it")
    with whole_folder(out, overwrite, OWN_FILES, "an encoder folder") as new:
        networks = read_networks(model)
        folder = next(iter(networks.values())).folder
        old = parse_vocabulary(folder.vocabulary, folder.vocabulary_file)
        change = decide(old, folder)
        content, sha256 = change.vocabulary.content, change.vocabulary.sha256
        changed = {}
        for kind, network in networks.items():
            rewritten = change_rows(network.folder, change.sources, content, sha256)
            changed[kind] = add_provenance(network._replace(folder=rewritten), model, made_by)
        writer_of("encoder").write(new, changed, None)
        (new / IDS_FILE).write_bytes(to_json(_ids(old, change)))
    return ChangedModel(out, tuple(networks), *_counts(old, change))


def _ids(old: Vocabulary, change: VocabularyChange) -> dict[str, Any]:
    """The mapping of ids, for records and everything else that holds old ones."""
    tokens = change.vocabulary.tokens
    return {
        "new_id_of_old_id": list(change.new_ids),
        "new_tokens": {
            tokens[new]: {"id": new, "mean_of": [old.tokens[index] for index in ids]}
            for new, ids in enumerate(change.sources)
            if tokens[new] not in old.ids
        },
        "removed_tokens": [
            token for token, new in zip(old.tokens, change.new_ids, strict=True) if new is None
        ],
    }


def _counts(old: Vocabulary, change: VocabularyChange) -> tuple[int, int, int, int, int]:
    new_tokens = [i for i, t in enumerate(change.vocabulary.tokens) if t not in old.ids]
    reused = sum(index < old.size for index in new_tokens)
    removed = sum(new is None for new in change.new_ids) - reused
    return old.size, change.vocabulary.size, reused, len(new_tokens) - reused, removed
