"""The manifest of a folder of records: what is in it, and how it was made. No TensorFlow.

records/
  manifest.json                      written last: a folder without it is an unfinished build
  vocab.txt
  train-00000-of-00012.tfrecord      see `electra_tf/data/records.py`
  held_out-00000-of-00001.tfrecord
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from electra_tf.config import Section, parse_config

MANIFEST = "manifest.json"


class Shard(Section):
    """One file of records."""

    file: str
    examples: int
    bytes: int
    sha256: str


class Split(Section):
    """The shards of one part of the corpus, and what stands in them."""

    documents: int
    examples: int
    tokens: int  # [CLS] and [SEP] left out
    shards: tuple[Shard, ...]


class VocabularyFacts(Section):
    """The vocabulary whose ids stand in the records."""

    file: str
    size: int
    sha256: str
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int


class Manifest(Section):
    """What a folder of records holds, and how it was made."""

    format: Literal[1]
    max_length: int
    max_unit_tokens: int
    seed: int
    vocabulary: VocabularyFacts
    tokenizer: dict[str, Any]
    segmenter: dict[str, Any]
    corpus: dict[str, Any]
    unigram_entropy_nats: float
    train: Split
    held_out: Split


def read_manifest(folder: str | Path) -> Manifest:
    """Reads what a folder of records says of itself.

    Raises:
      ValueError: no such folder, no manifest (an unfinished build), or a manifest of another kind.
    """
    folder = Path(folder)
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder of records; make it with `records build`")
    if not path.is_file():
        raise ValueError(
            f"{folder}: has no {MANIFEST}, so it is no finished folder of records; "
            f"build it again with `records build`"
        )
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not valid JSON: {error}") from None
    return parse_config(Manifest, _tuples(tree), str(path))


def write_manifest(folder: str | Path, manifest: Manifest) -> None:
    """Writes the manifest under a temporary name, then renames it."""
    path = Path(folder) / MANIFEST
    text = json.dumps(manifest.model_dump(), ensure_ascii=False, indent=2)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)


def check_shards(folder: str | Path, split: Split) -> None:
    """Refuses a folder in which a shard is missing or of another size than the manifest says.

    Raises:
      ValueError: names the file, the size found and the size expected.
    """
    for shard in split.shards:
        path = Path(folder) / shard.file
        if not path.is_file():
            raise ValueError(f"{path}: the manifest names this shard, but it is not there")
        size = path.stat().st_size
        if size != shard.bytes:
            raise ValueError(
                f"{path}: {size} bytes found, {shard.bytes} expected: the shard is truncated or "
                f"altered; build the records again"
            )


def _tuples(tree: Any) -> Any:
    """JSON has lists where the manifest has tuples."""
    for split in ("train", "held_out"):
        if isinstance(tree, dict) and isinstance(tree.get(split), dict):
            tree[split]["shards"] = tuple(tree[split].get("shards", ()))
    return tree
