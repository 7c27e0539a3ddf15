"""A folder of records against its manifest: every file, every record, the vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from chinese.vocab import load_vocabulary
from electra_tf.data.checks import ShardCheck, check_shard, strange_shards
from electra_tf.data.manifest import Split, VocabularyFacts, read_manifest
from electra_tf.workflows.vocabulary import vocabulary_facts


class Verification(NamedTuple):
    """What was found in a folder of records.

    Fields:
      shards: one entry a shard, the training shards first.
      defects: lines that each name the file; empty where everything is as the manifest says.
    """

    shards: tuple[ShardCheck, ...]
    defects: tuple[str, ...]


def verify_records(
    folder: str | Path, progress: Callable[[str, int, int | None], None]
) -> Verification:
    """Reads a folder of records whole and compares it with its manifest.

    Args:
      folder: the records.
      progress: told the stage, the examples read, and the examples in all.

    Returns:
      The shards and the defects; a defect is reported, not raised.

    Raises:
      ValueError: no such folder, or no manifest that can be read.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    total = manifest.train.examples + manifest.held_out.examples
    done = 0

    def tell(records: int) -> None:
        nonlocal done
        done += records
        progress("records verified", done, total)

    shards, defects = [], _vocabulary_defects(folder, manifest.vocabulary)
    for name, split in (("train", manifest.train), ("held_out", manifest.held_out)):
        checks = [check_shard(folder, shard, manifest, tell) for shard in split.shards]
        defects += [f"{check.file}: {line}" for check in checks for line in check.defects]
        if not any(check.defects for check in checks):
            defects += [f"manifest.json: {line}" for line in _count_defects(name, split, checks)]
        shards += checks
    defects += [
        f"{name}: the manifest does not name this file; it belongs to another build"
        for name in strange_shards(folder, manifest)
    ]
    return Verification(tuple(shards), tuple(defects))


def _vocabulary_defects(folder: Path, facts: VocabularyFacts) -> list[str]:
    try:
        vocabulary = load_vocabulary(folder / facts.file)
    except ValueError as error:
        return [str(error)]
    found = vocabulary_facts(vocabulary).model_dump(exclude={"file"})
    return [
        f"{facts.file}: {name} is {value}, {getattr(facts, name)} in the manifest: these ids were "
        "made with another vocabulary"
        for name, value in found.items()
        if value != getattr(facts, name)
    ]


def _count_defects(name: str, split: Split, checks: list[ShardCheck]) -> list[str]:
    examples = sum(check.examples for check in checks)
    tokens = sum(check.tokens for check in checks)
    return [
        f"{name}.{what} is {stated:,}, but the shards hold {found:,}"
        for what, stated, found in (
            ("examples", split.examples, examples),
            ("tokens", split.tokens, tokens),
        )
        if stated != found
    ]
