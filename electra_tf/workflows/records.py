"""Text into a folder of records: the way of the data, stages 1 to 8."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from chinese.corpus import build_examples, document_rng, encode_documents
from chinese.demo_corpus import demo_documents
from chinese.documents import (
    Document,
    fingerprint,
    is_held_out,
    list_corpus_files,
    read_documents,
)
from chinese.segmentation import make_segmenter
from chinese.tokenizer import Tokenizer
from chinese.vocab import Vocabulary, build_vocabulary, load_vocabulary, save_vocabulary
from electra_tf.config import RecordsConfig
from electra_tf.data.manifest import Manifest, VocabularyFacts, write_manifest
from electra_tf.data.records import SplitWriter, prepare_folder, unigram_entropy_nats

DEMO = "demo"
"""The name of the embedded corpus where a path may stand."""

VOCABULARY_FILE = "vocab.txt"

Progress = Callable[[str, int, int | None], None]
"""Takes the stage, the characters done, and the characters in all where that is known."""


def make_vocabulary(
    config: RecordsConfig, corpus: Sequence[str], out: str | Path, progress: Progress
) -> Vocabulary:
    """Builds a vocabulary from a corpus and writes it.

    Args:
      config: size and folding.
      corpus: files, folders, globs, or `demo`.
      out: the file to write.
      progress: told after every document.

    Returns:
      The vocabulary.

    Raises:
      ValueError: no such corpus, an empty one, text that cannot be read, or the file exists.
    """
    out = Path(out)
    if out.exists():
        raise ValueError(f"{out}: exists already; give another --out, or remove it")
    vocabulary = _vocabulary_of(config, _documents(corpus, "words counted", progress))
    out.parent.mkdir(parents=True, exist_ok=True)
    save_vocabulary(vocabulary, out)
    return vocabulary


def build_records(
    config: RecordsConfig,
    corpus: Sequence[str],
    out: str | Path,
    progress: Progress,
    vocabulary_file: str | Path | None = None,
) -> Manifest:
    """Turns a corpus into shuffled shards with a manifest.

    Args:
      config: lengths, rates, segmenter, folding.
      corpus: files, folders, globs, or `demo` for the embedded text.
      out: a new or empty folder.
      progress: told after every document.
      vocabulary_file: a BERT `vocab.txt`; None = one is built from the corpus.

    Returns:
      What was written.

    Raises:
      ValueError: no such corpus, an empty one, text that cannot be read, a vocabulary that lacks
        what is needed, or a folder that holds something.
    """
    # Everything that can be refused is looked at before the folder is touched.
    paths = corpus_paths(corpus)
    given = load_vocabulary(vocabulary_file) if vocabulary_file else None
    segmenter = make_segmenter(config.segmenter)
    out = Path(out)
    prepare_folder(out)

    characters = _Counter()
    vocabulary = given or _vocabulary_of(
        config, characters.watch(_documents(corpus, "words counted", progress))
    )
    tokenizer = Tokenizer(vocabulary, config.lower_case, config.strip_accents)
    save_vocabulary(vocabulary, out / VOCABULARY_FILE)

    writers = {"train": SplitWriter(out, "train"), "held_out": SplitWriter(out, "held_out")}
    counts = np.zeros(vocabulary.size, np.int64)
    splits: deque[tuple[str, bytes]] = deque()
    documents = _documents(corpus, "text into records", progress, characters.total or None)
    seen = _Counter()
    encoded = encode_documents(
        _with_splits(seen.watch(documents), splits, config),
        tokenizer,
        segmenter,
        config.max_unit_tokens,
    )
    for document in encoded:
        split, mark = splits.popleft()
        if split == "train":
            counts += np.bincount(document.ids, minlength=vocabulary.size)
        writers[split].add_document(
            build_examples(
                document,
                config.max_length,
                document_rng(config.seed, mark),
                vocabulary.cls_id,
                vocabulary.sep_id,
                config.one_segment_rate,
                config.short_example_rate,
            )
        )
    manifest = Manifest(
        format=1,
        max_length=config.max_length,
        max_unit_tokens=config.max_unit_tokens,
        seed=config.seed,
        vocabulary=_vocabulary_facts(vocabulary),
        tokenizer=tokenizer.settings,
        segmenter={
            "name": segmenter.name,
            "version": segmenter.version,
            "fingerprint": segmenter.fingerprint,
        },
        corpus={
            "paths": paths,
            "characters": seen.total,
            "unknown_rate": float(counts[vocabulary.unk_id] / max(1, counts.sum())),
        },
        unigram_entropy_nats=unigram_entropy_nats(counts),
        **{
            name: writer.finish(config.examples_per_shard, config.seed)
            for name, writer in writers.items()
        },
    )
    if not manifest.train.examples:
        raise ValueError(
            f"corpus {' '.join(corpus)}: holds no text to train on; documents are separated by "
            f"blank lines, and {config.held_out_rate:.0%} of them are held out"
        )
    write_manifest(out, manifest)
    return manifest


def corpus_paths(corpus: Sequence[str]) -> list[str]:
    """The files of a corpus, or `demo`.

    Raises:
      ValueError: a path leads to no file.
    """
    if list(corpus) == [DEMO]:
        return [DEMO]
    return [str(path) for path in list_corpus_files(corpus)]


class _Counter:
    """Counts the characters of the documents that pass by."""

    def __init__(self):
        self.total = 0

    def watch(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            self.total += sum(map(len, document))
            yield document


def _documents(
    corpus: Sequence[str], stage: str, progress: Progress, total: int | None = None
) -> Iterator[Document]:
    """All documents of the corpus, each told to `progress`."""
    documents = demo_documents() if list(corpus) == [DEMO] else read_documents(corpus)
    counter = _Counter()
    for document in counter.watch(documents):
        progress(stage, counter.total, total)
        yield document


def _with_splits(
    documents: Iterable[Document], splits: deque[tuple[str, bytes]], config: RecordsConfig
) -> Iterator[Document]:
    """Notes for each document, in their order, its part and its fingerprint."""
    for document in documents:
        held_out = is_held_out("\n".join(document), config.held_out_rate, config.seed)
        splits.append(("held_out" if held_out else "train", fingerprint(document)))
        yield document


def _vocabulary_of(config: RecordsConfig, documents: Iterable[Document]) -> Vocabulary:
    lines = (line for document in documents for line in document)
    return build_vocabulary(lines, config.vocab_size, config.lower_case, config.strip_accents)


def _vocabulary_facts(vocabulary: Vocabulary) -> VocabularyFacts:
    return VocabularyFacts(
        file=VOCABULARY_FILE,
        size=vocabulary.size,
        sha256=vocabulary.sha256,
        unk_id=vocabulary.unk_id,
        cls_id=vocabulary.cls_id,
        sep_id=vocabulary.sep_id,
        mask_id=vocabulary.mask_id,
    )
