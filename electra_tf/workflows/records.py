"""Text into a folder of records: the way of the data, stages 1 to 8."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chinese.documents import Document, OnBadText, ReadCounts
from chinese.segmentation import Segmenter
from chinese.vocab import Vocabulary, load_vocabulary, save_vocabulary
from electra_tf.config import RecordsConfig
from electra_tf.data import build_report
from electra_tf.data.manifest import (
    BuildTimes,
    Manifest,
    Split,
    Statistics,
    read_build_times,
    read_manifest,
    write_build_times,
    write_manifest,
)
from electra_tf.data.records import (
    SplitWriter,
    give_up_folder,
    prepare_folder,
    unigram_entropy_nats,
)
from electra_tf.whole_folder import DISK_FULL
from electra_tf.workflows.corpora import DEMO, Corpus, Progress, Share, told_documents
from electra_tf.workflows.record_workers import (
    BlockCounts,
    build_blocks,
    cut_into_blocks,
    make_config_segmenter,
)
from electra_tf.workflows.vocabulary import (
    vocabulary_facts,
    vocabulary_file_name,
    vocabulary_of,
)

__all__ = ["DEMO", "Progress", "build_facts", "build_records", "corpus_paths"]


def build_records(
    config: RecordsConfig,
    corpus: Sequence[str],
    out: str | Path,
    progress: Progress,
    vocabulary_file: str | Path | None = None,
    workers: int = 1,
    on_bad_text: OnBadText = "refuse",
) -> Manifest:
    """Turns a corpus into shuffled shards with a manifest, and a report beside them.

    The same text, config and vocabulary give the same bytes for any number of workers. A build that
    fails leaves nothing behind; what a killed one leaves, the next one clears.

    Args:
      config: lengths, rates, segmenter, folding.
      corpus: files, folders, globs, or `demo` for the embedded text; all with a weight
        (`a.txt:0.7`) or none, see `Corpus`.
      out: a new or empty folder.
      progress: told after every document.
      vocabulary_file: a BERT `vocab.txt` or a SentencePiece model; None = one is built from the
        corpus.
      workers: processes that segment and encode; 1 = this one.
      on_bad_text: what to do with lines that are not UTF-8, or no rows of a task file.

    Returns:
      What was written.

    Raises:
      ValueError: no such corpus, an empty one, text that cannot be read, a vocabulary that lacks
        what is needed, or a folder that holds something.
      OSError: the disk is full, or a worker died.
    """
    # Everything that can be refused is looked at before the folder is touched.
    if workers < 1:
        raise ValueError(f"workers is {workers}: give at least 1")
    text = Corpus(corpus, on_bad_text, config.seed)
    given = load_vocabulary(vocabulary_file) if vocabulary_file else None
    segmenter = make_config_segmenter(config)
    out = Path(out)
    prepare_folder(out)
    try:
        return _Build(config, text, out, progress, segmenter, workers).run(given)
    except OSError as error:
        give_up_folder(out)
        if error.errno in DISK_FULL:
            raise OSError(f"{out}: cannot be written, the disk is full ({error})") from error
        raise
    except BaseException:
        give_up_folder(out)
        raise


def corpus_paths(corpus: Sequence[str]) -> list[str]:
    """The files of a corpus, or `demo`, with their weights where they have some.

    Raises:
      ValueError: a path leads to no file.
    """
    return Corpus(corpus, "refuse", 0).paths


def build_facts(folder: str | Path) -> dict[str, str]:
    """What a folder of records tells of its build, name → value.

    Raises:
      ValueError: no finished folder of records.
    """
    return build_report.build_facts(read_manifest(folder), read_build_times(folder))


class _Build:
    """One build, in a folder that is ours."""

    def __init__(
        self,
        config: RecordsConfig,
        text: Corpus,
        out: Path,
        progress: Progress,
        segmenter: Segmenter,
        workers: int,
    ):
        self._config, self._text, self._out = config, text, out
        self._progress, self._segmenter, self._workers = progress, segmenter, workers
        self._seconds: Counter[str] = Counter()

    def run(self, given: Vocabulary | None) -> Manifest:
        """Reads the text as often as needed: for weights, for a vocabulary, for records."""
        started = time.perf_counter()
        shares = self._text.mix(self._progress)
        total = None
        if given is None:
            counts = ReadCounts()
            documents = told_documents(self._text, counts, "words counted", self._progress)
            given = vocabulary_of(self._config, documents, self._text)
            total = counts.characters
        self._seconds["vocabulary"] = time.perf_counter() - started
        file = self._out / vocabulary_file_name(given)
        save_vocabulary(given, file)
        manifest = self._records(given, file, shares, total)
        times = BuildTimes(
            workers=self._workers,
            seconds=time.perf_counter() - started,
            stage_seconds={name: float(value) for name, value in self._seconds.items()},
        )
        write_build_times(self._out, times)
        build_report.write_report(self._out, manifest, times)
        write_manifest(self._out, manifest)
        return manifest

    def _records(
        self, vocabulary: Vocabulary, file: Path, shares: tuple[Share, ...], total: int | None
    ) -> Manifest:
        config = self._config
        read = ReadCounts()
        met = BlockCounts(vocabulary.size, config.max_unit_tokens, config.max_length)
        writers = [SplitWriter(self._out, "train"), SplitWriter(self._out, "held_out")]
        documents = told_documents(self._text, read, "text into records", self._progress, total)
        blocks = self._timed("read", cut_into_blocks(documents))
        try:
            for built in build_blocks(blocks, config, file, self._workers):
                met.add(built.counts)
                writing = time.perf_counter()
                for writer, examples in zip(writers, (built.train, built.held_out), strict=True):
                    writer.add(examples)
                met.seconds["shards"] += time.perf_counter() - writing
            writing = time.perf_counter()
            train, held_out = (w.finish(config.examples_per_shard, config.seed) for w in writers)
            met.seconds["shards"] += time.perf_counter() - writing
        finally:
            for writer in writers:
                writer.close()
        self._seconds.update(met.seconds)
        return make_manifest(
            config,
            self._text.paths,
            shares,
            read,
            met,
            vocabulary,
            self._segmenter,
            train,
            held_out,
        )

    def _timed(self, stage: str, blocks: Iterable[list[Document]]) -> Iterator[list[Document]]:
        """Passes blocks on, and counts the time it takes to get them."""
        blocks = iter(blocks)
        while True:
            started = time.perf_counter()
            block = next(blocks, None)
            self._seconds[stage] += time.perf_counter() - started
            if block is None:
                return
            yield block


def make_manifest(
    config: RecordsConfig,
    paths: list[str],
    shares: tuple[Share, ...],
    read: ReadCounts,
    met: BlockCounts,
    vocabulary: Vocabulary,
    segmenter: Segmenter,
    train: Split,
    held_out: Split,
) -> Manifest:
    """Puts together what a build has met and written.

    Raises:
      ValueError: nothing to train on.
    """
    assert not met.numbers["lost_tokens"], f"{met.numbers['lost_tokens']} tokens were lost"
    assert met.numbers["tokens"] == train.tokens + held_out.tokens
    if not train.examples:
        raise ValueError(
            f"corpus {' '.join(paths[:3])}: holds no text to train on; documents are separated by "
            f"blank lines, and {config.held_out_rate:.0%} of them are held out"
        )
    return Manifest(
        format=1,
        max_length=config.max_length,
        max_unit_tokens=config.max_unit_tokens,
        seed=config.seed,
        vocabulary=vocabulary_facts(vocabulary),
        tokenizer={
            "lower_case": config.lower_case,
            "strip_accents": config.lower_case and config.strip_accents,
            "vocabulary_sha256": vocabulary.sha256,
        },
        segmenter={
            "name": segmenter.name,
            "version": segmenter.version,
            "fingerprint": segmenter.fingerprint,
        },
        corpus=_corpus_facts(paths, shares, read, met, vocabulary),
        unigram_entropy_nats=unigram_entropy_nats(met.token_ids),
        statistics=_statistics(read, met, vocabulary, config.packed),
        train=train,
        held_out=held_out,
    )


def _corpus_facts(
    paths: list[str],
    shares: tuple[Share, ...],
    read: ReadCounts,
    met: BlockCounts,
    vocabulary: Vocabulary,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "paths": paths,
        "characters": read.characters,
        "unknown_rate": float(met.token_ids[vocabulary.unk_id] / max(1, met.token_ids.sum())),
    }
    return facts | ({"shares": [share._asdict() for share in shares]} if shares else {})


def _statistics(
    read: ReadCounts, met: BlockCounts, vocabulary: Vocabulary, packed: bool
) -> Statistics:
    return Statistics(
        files=read.files,
        documents=read.documents,
        duplicates=read.duplicates,
        left_out=read.left_out,
        cut_documents=read.cut_documents,
        bad_lines=read.bad_lines,
        lines=read.lines,
        characters=read.characters,
        sentences=met.numbers["sentences"],
        tokens=met.numbers["tokens"],
        lost_tokens=met.numbers["lost_tokens"],
        unknown_tokens=int(met.token_ids[vocabulary.unk_id]),
        padding_rate=_padding_rate(met.examples),
        unpacked_padding_rate=_padding_rate(met.sequences) if packed else None,
        one_segment_examples=met.numbers["one_segment"],
        two_segment_examples=met.numbers["two_segments"],
        words=_by_length(met.words),
        units=_by_length(met.units),
        example_lengths=_by_length(met.examples),
    )


def _padding_rate(lengths: np.ndarray) -> float:
    """The share of padding where so many examples of each length, int64 [L + 1], are filled up."""
    tokens = int((lengths * np.arange(len(lengths))).sum())
    return 1 - tokens / max(1, int(lengths.sum()) * (len(lengths) - 1))


def _by_length(counts: np.ndarray) -> dict[str, int]:
    return {str(length): int(counts[length]) for length in np.flatnonzero(counts)}
