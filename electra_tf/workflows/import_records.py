"""Records of the reference's own builder into ours; they know no words, so tokens are masked."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from chinese.vocab import Vocabulary, load_vocabulary, save_vocabulary
from electra_tf.data.checks import check_shard
from electra_tf.data.manifest import Manifest, write_manifest
from electra_tf.data.records import (
    SplitWriter,
    prepare_folder,
    unigram_entropy_nats,
)
from electra_tf.data.reference_records import (
    ReferenceRows,
    find_reference_files,
    read_reference_rows,
)
from electra_tf.data.rows import Rows
from electra_tf.data.serialization import serialize_rows
from electra_tf.workflows.vocabulary import vocabulary_facts, vocabulary_file_name

Tell = Callable[[str, int, int | None], None]


def import_records(
    folder: str | Path,
    vocabulary_file: str | Path,
    out: str | Path,
    progress: Tell,
    *,
    lower_case: bool = True,
    held_out_rate: float = 0.01,
    examples_per_shard: int = 20_000,
    seed: int = 1,
) -> Manifest:
    """Turns a folder of the reference's records into shuffled shards with a manifest.

    Every token becomes a unit of its own. The documents are no longer known, so single examples are
    held out, chosen by their content.

    Args:
      folder: holds `*.tfrecord*`.
      vocabulary_file: the `vocab.txt` the records were built with.
      out: a new or empty folder.
      progress: told the stage, the examples done, and None.
      lower_case: as the records were built; accents were stripped with it.
      held_out_rate: in [0, 1], share of the examples kept for evaluation.
      examples_per_shard: examples of one file at most.
      seed: of the shuffle and of what is held out.

    Returns:
      What was written.

    Raises:
      ValueError: files of another layout, ids that do not fit the vocabulary, a folder that holds
        something.
    """
    files = find_reference_files(folder)
    vocabulary = load_vocabulary(vocabulary_file)
    out = Path(out)
    prepare_folder(out)
    save_vocabulary(vocabulary, out / vocabulary_file_name(vocabulary))
    writers = {"train": SplitWriter(out, "train"), "held_out": SplitWriter(out, "held_out")}
    counts = np.zeros(vocabulary.size, np.int64)
    done = max_length = 0
    for path in files:
        for rows in read_reference_rows(path):
            _check_vocabulary(path, rows, vocabulary)
            max_length = max(max_length, rows.input_ids.shape[1])
            units = _token_units(rows.input_ids, vocabulary)
            is_held_out = _held_out(rows, held_out_rate, seed)
            for name, chosen in (("train", ~is_held_out), ("held_out", is_held_out)):
                sizes = rows.sizes[chosen]
                is_real = np.arange(rows.input_ids.shape[1]) < sizes[:, None]
                columns = (rows.input_ids, rows.segment_ids, units)
                texts = tuple(column[chosen][is_real] for column in columns)
                writers[name].add(serialize_rows(Rows(texts, sizes, None), len(sizes)))
            text = rows.input_ids[~is_held_out][units[~is_held_out] > 0]
            counts += np.bincount(text, minlength=vocabulary.size)
            done += len(rows.sizes)
            progress("records imported", done, None)
    manifest = Manifest(
        format=1,
        max_length=max_length,
        max_unit_tokens=1,
        seed=seed,
        vocabulary=vocabulary_facts(vocabulary),
        tokenizer={
            "lower_case": lower_case,
            "strip_accents": lower_case,
            "vocabulary_sha256": vocabulary.sha256,
        },
        segmenter={"name": "none", "version": "1", "fingerprint": hashlib.sha256().hexdigest()},
        corpus={
            "paths": [str(path) for path in files],
            "unknown_rate": float(counts[vocabulary.unk_id] / max(1, counts.sum())),
        },
        unigram_entropy_nats=unigram_entropy_nats(counts),
        **{name: writer.finish(examples_per_shard, seed) for name, writer in writers.items()},
    )
    _check_examples(out, manifest, progress)
    write_manifest(out, manifest)
    return manifest


def _check_vocabulary(path: Path, rows: ReferenceRows, vocabulary: Vocabulary) -> None:
    """Refuses another vocabulary at once, not after hours of reading."""
    ids = rows.input_ids
    if ids.min() < 0 or ids.max() >= vocabulary.size:
        raise ValueError(
            f"{path}: holds id {int(ids.max())}, but the vocabulary has {vocabulary.size:,} "
            "tokens; give --vocab the file the records were built with"
        )
    if (ids[:, 0] != vocabulary.cls_id).any():
        found = int(ids[:, 0][ids[:, 0] != vocabulary.cls_id][0])
        raise ValueError(
            f"{path}: an example begins with id {found}, but [CLS] is {vocabulary.cls_id} in the "
            "vocabulary; give --vocab the file the records were built with"
        )


def _token_units(ids: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    is_text = (ids != vocabulary.pad_id) & (ids != vocabulary.cls_id) & (ids != vocabulary.sep_id)
    return np.cumsum(is_text, axis=1) * is_text


def _held_out(rows: ReferenceRows, rate: float, seed: int) -> np.ndarray:
    """bool [n], by content: equal examples never stand on both sides."""
    hashes = [zlib.crc32(row.tobytes(), seed) for row in rows.input_ids]
    return np.array(hashes, np.float64) / (1 << 32) < rate


def _check_examples(out: Path, manifest: Manifest, progress: Tell) -> None:
    total = manifest.train.examples + manifest.held_out.examples
    done = 0

    def tell(records: int) -> None:
        nonlocal done
        done += records
        progress("records verified", done, total)

    shards = (*manifest.train.shards, *manifest.held_out.shards)
    defects = [line for shard in shards for line in check_shard(out, shard, manifest, tell).defects]
    if defects:
        kinds = sorted({line.partition(": ")[2] for line in defects})
        raise ValueError(f"these records cannot be trained on: {'; '.join(kinds)}")
