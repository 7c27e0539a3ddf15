"""The manifest of a folder of records: what is in it, and how it was made. No TensorFlow.

records/
  manifest.json                      written last: a folder without it is an unfinished build
  vocab.txt                          or spiece.model
  build.json, report.html            how long it took; all of it to be read by people
  train-00000-of-00012.tfrecord      see `electra_tf/data/records.py`
  held_out-00000-of-00001.tfrecord
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from electra_tf.config import Section, parse_config
from electra_tf.whole_folder import replace_text

MANIFEST = "manifest.json"
BUILD_TIMES = "build.json"


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
    sequences: int | None = None  # that share the examples; None: each is one, not packed
    shards: tuple[Shard, ...]

    @property
    def is_packed(self) -> bool:
        """True where records have `sequence_ids`: several sequences may share one."""
        return self.sequences is not None


class VocabularyFacts(Section):
    """The vocabulary whose ids stand in the records."""

    file: str
    size: int
    sha256: str
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int


class Statistics(Section):
    """What was met while building; the same for the same text and seed.

    Documents, lines and characters are of all text read; tokens, words, units and examples of what
    became records. Keys of the tables are lengths; the last one of `words` stands for longer, too.
    """

    files: int
    documents: int
    duplicates: int  # dropped: the same lines as a document before
    left_out: int  # not chosen where corpora are mixed by weight
    cut_documents: int  # so long that they went on as another document
    bad_lines: int  # left out, as was asked for
    lines: int
    characters: int
    sentences: int
    tokens: int
    lost_tokens: int  # between text and records: 0
    unknown_tokens: int  # in the training text
    padding_rate: float  # of all places, where examples are filled up to max_length
    unpacked_padding_rate: float | None = None  # what it would be; None: nothing is packed
    one_segment_examples: int  # where examples are packed, these two count their sequences
    two_segment_examples: int
    words: dict[str, int]  # by characters
    units: dict[str, int]  # by tokens
    example_lengths: dict[str, int]  # by tokens, [CLS] and [SEP] included


class BuildTimes(Section):
    """How long a build took: apart from the manifest, which is the same for every build."""

    workers: int
    seconds: float
    stage_seconds: dict[str, float]  # over all workers


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
    statistics: Statistics | None = None  # None: built by a program that counts less
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
    return read_manifest_file(path)


def read_manifest_file(path: str | Path) -> Manifest:
    """Reads a manifest from wherever it was copied to.

    Raises:
      ValueError: not JSON, or a manifest of another kind.
    """
    try:
        tree = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not valid JSON: {error}") from None
    return parse_config(Manifest, _tuples(tree), str(path))


def write_manifest(folder: str | Path, manifest: Manifest) -> None:
    """Writes the manifest under a temporary name, then renames it."""
    _write_json(Path(folder) / MANIFEST, manifest)


def write_build_times(folder: str | Path, times: BuildTimes) -> None:
    """Writes how long a build took."""
    _write_json(Path(folder) / BUILD_TIMES, times)


def read_build_times(folder: str | Path) -> BuildTimes | None:
    """How long a build took; None where nobody wrote it down.

    Raises:
      ValueError: the file is damaged.
    """
    path = Path(folder) / BUILD_TIMES
    if not path.is_file():
        return None
    try:
        return parse_config(BuildTimes, json.loads(path.read_text(encoding="utf-8")), str(path))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not valid JSON: {error}") from None


def _write_json(path: Path, content: Section) -> None:
    text = json.dumps(content.model_dump(), ensure_ascii=False, indent=2)
    replace_text(path, text + "\n")


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
