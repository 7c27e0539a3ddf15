"""How much of development and test texts stands in a corpus, or in records made from one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from chinese.demo_corpus import demo_documents
from chinese.documents import read_documents
from chinese.overlap import DOCUMENT_END, FileOverlap, Overlap, read_texts
from chinese.vocab import load_vocabulary
from electra_tf.data.manifest import MANIFEST, check_shards, read_manifest
from electra_tf.data.pipeline import evaluation_batches
from electra_tf.workflows.records import DEMO

_ROWS_AT_ONCE = 256

Tell = Callable[[str, int, int | None], None]


def measure_overlap(
    corpus: str, against: Sequence[str | Path], progress: Tell, num_worst: int = 3
) -> list[FileOverlap]:
    """Looks for the texts of some files in a corpus.

    In records a shingle that goes from one example into the next is not seen: with examples of 128
    tokens that is one in seven.

    Args:
      corpus: a file, folder or glob of text, `demo`, or a folder of records.
      against: files as `chinese.overlap.read_texts` reads them.
      progress: told the stage, characters done, and None.
      num_worst: how many texts to name for each file.

    Returns:
      What was found, file by file.

    Raises:
      ValueError: no such corpus or file, or text that cannot be read.
    """
    overlap = Overlap([(str(path), read_texts(path)) for path in against])
    if (Path(corpus) / MANIFEST).is_file():
        texts = _texts_of_records(Path(corpus))
    else:
        texts = _texts_of_corpus(corpus)
    overlap.watch(_told(texts, progress))
    return overlap.results(num_worst)


def _told(texts: Iterator[str], progress: Tell) -> Iterator[str]:
    done = 0
    for text in texts:
        yield text
        done += len(text)
        if text == DOCUMENT_END:
            progress("corpus searched", done, None)


def _texts_of_corpus(corpus: str) -> Iterator[str]:
    documents = demo_documents() if corpus == DEMO else read_documents([corpus])
    for document in documents:
        yield from document
        yield DOCUMENT_END


def _texts_of_records(folder: Path) -> Iterator[str]:
    """The text of every example, as far as tokens tell it: folded, without unknown words."""
    manifest = read_manifest(folder)
    vocabulary = load_vocabulary(folder / manifest.vocabulary.file)
    tokens = np.array(vocabulary.tokens, dtype=object)
    tokens[[vocabulary.pad_id, vocabulary.sep_id]] = ""
    # With [CLS] another text may begin in the same row; nobody knows what stood where [UNK] is.
    tokens[[vocabulary.cls_id, vocabulary.unk_id]] = DOCUMENT_END
    for split in (manifest.train, manifest.held_out):
        check_shards(folder, split)
        batches = evaluation_batches(
            folder,
            split,
            max_length=manifest.max_length,
            batch_size=_ROWS_AT_ONCE,
            max_batches=-(-split.examples // _ROWS_AT_ONCE),
        )
        for batch in batches:
            for row in tokens[batch.input_ids.numpy()]:
                yield "".join(row)
                yield DOCUMENT_END
