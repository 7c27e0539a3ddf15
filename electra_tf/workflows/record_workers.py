"""Blocks of documents into serialized records, in this process or in several, always in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

import numpy as np

from chinese.corpus import EncodeCounts, EncodedDocument, encode_documents
from chinese.documents import Document, fingerprint, is_held_out
from chinese.examples import assemble_examples, cut_examples, document_rng
from chinese.segmentation import Segmenter, make_segmenter
from chinese.tokenizer import Tokenizer
from chinese.vocab import load_vocabulary
from electra_tf.config import RecordsConfig
from electra_tf.data.rows import Rows, pack
from electra_tf.data.serialization import SerializedExamples, serialize_rows

BLOCK_CHARACTERS = 1 << 18

Block = list[Document]
_Encoded = tuple[Document, EncodedDocument]


class BlockCounts:
    """What was met in blocks; adding blocks up gives the counts of the corpus.

    Attributes:
        numbers: by name: sentences, tokens, lost_tokens, one_segment, two_segments.
        token_ids: int64 [V], how often each token stands in the training text.
        words: int64 [17], by length in characters, the last for 16 and more.
        units: int64 [cap + 1], by length in tokens.
        sequences: int64 [L + 1], by length in tokens, [CLS] and [SEP] included.
        examples: int64 [L + 1], the same of records, which several sequences may share.
        seconds: by stage.
    """

    def __init__(self, vocab_size: int, max_unit_tokens: int, max_length: int):
        self.numbers: Counter[str] = Counter()
        self.token_ids = np.zeros(vocab_size, np.int64)
        self.words = np.zeros(17, np.int64)
        self.units = np.zeros(max_unit_tokens + 1, np.int64)
        self.sequences = np.zeros(max_length + 1, np.int64)
        self.examples = np.zeros(max_length + 1, np.int64)
        self.seconds: Counter[str] = Counter()

    def add(self, other: BlockCounts) -> None:
        """Adds the counts of another block."""
        self.numbers.update(other.numbers)
        self.seconds.update(other.seconds)
        for name in ("token_ids", "words", "units", "sequences", "examples"):
            getattr(self, name).__iadd__(getattr(other, name))


class BuiltBlock(NamedTuple):
    """A block as records, held-out documents apart."""

    train: SerializedExamples
    held_out: SerializedExamples
    counts: BlockCounts


def cut_into_blocks(documents: Iterable[Document]) -> Iterator[Block]:
    """Yields documents in groups of about `BLOCK_CHARACTERS`."""
    block: Block = []
    size = 0
    for document in documents:
        block.append(document)
        size += sum(map(len, document))
        if size >= BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def make_config_segmenter(config: RecordsConfig) -> Segmenter:
    """The segmenter that a config asks for, with its dictionaries.

    Raises:
      ValueError: a dictionary that is missing or broken, or is not for this segmenter.
    """
    return make_segmenter(config.segmenter, [Path(path) for path in config.user_dictionaries])


class BlockBuilder:
    """Stages 3 to 8 for one block at a time.

    Args:
      config: how text becomes records.
      vocabulary_file: `vocab.txt` or a SentencePiece model.
    """

    def __init__(self, config: RecordsConfig, vocabulary_file: str | Path):
        self._config = config
        self._vocabulary = load_vocabulary(vocabulary_file)
        self._tokenizer = Tokenizer(self._vocabulary, config.lower_case, config.strip_accents)
        self._segmenter = make_config_segmenter(config)

    def build(self, block: Block) -> BuiltBlock:
        """Gives the records of a block: a function of the block alone."""
        config = self._config
        counts = BlockCounts(self._vocabulary.size, config.max_unit_tokens, config.max_length)
        met = EncodeCounts()
        encoded = list(
            encode_documents(
                block, self._tokenizer, self._segmenter, config.max_unit_tokens, counts=met
            )
        )
        started = time.perf_counter()
        splits: tuple[list[_Encoded], list[_Encoded]] = ([], [])
        for document, numbers in zip(block, encoded, strict=True):
            is_apart = is_held_out("\n".join(document), config.held_out_rate, config.seed)
            splits[is_apart].append((document, numbers))
        train, held_out = (self._rows(documents, counts) for documents in splits)
        input_ids, _, unit_ids = train.columns[:3]
        counts.token_ids += np.bincount(input_ids[unit_ids > 0], minlength=self._vocabulary.size)
        serializing = time.perf_counter()
        built = BuiltBlock(
            serialize_rows(train, len(splits[0])), serialize_rows(held_out, len(splits[1])), counts
        )
        counts.numbers["sentences"] = met.sentences
        counts.words += met.words
        counts.seconds.update(met.seconds)
        counts.seconds["examples"] = serializing - started
        counts.seconds["records"] = time.perf_counter() - serializing
        return built

    def _rows(self, documents: list[_Encoded], counts: BlockCounts) -> Rows:
        """The examples of some documents, counted; packed if that is asked for."""
        config = self._config
        encoded = [numbers for _, numbers in documents]
        cuts = [
            cut_examples(
                numbers,
                config.max_length,
                document_rng(config.seed, fingerprint(document)),
                config.one_segment_rate,
                config.short_example_rate,
            )
            for document, numbers in documents
        ]
        columns, sizes = assemble_examples(
            encoded, cuts, self._vocabulary.cls_id, self._vocabulary.sep_id
        )
        rows = Rows(columns, sizes, None)
        num_tokens = sum(len(numbers.ids) for numbers in encoded)
        counts.numbers["tokens"] += num_tokens
        counts.numbers["lost_tokens"] += num_tokens - int(np.count_nonzero(columns.unit_ids))
        _count_sequences(counts, rows)
        if config.packed:
            rows = pack(rows, config.max_length)
        counts.examples += np.bincount(rows.sizes, minlength=len(counts.examples))
        return rows


def _count_sequences(counts: BlockCounts, rows: Rows) -> None:
    _, segment_ids, unit_ids = rows.columns
    counts.sequences += np.bincount(rows.sizes, minlength=len(counts.sequences))
    has_two = int(np.count_nonzero(segment_ids[np.cumsum(rows.sizes) - 1]))
    counts.numbers["two_segments"] += has_two
    counts.numbers["one_segment"] += len(rows.sizes) - has_two
    # Unit ids begin at 1 in every sequence: make them differ between sequences.
    row = np.repeat(np.arange(len(rows.sizes)), rows.sizes)
    of_text = unit_ids > 0
    firsts = np.flatnonzero(np.diff((row << 32 | unit_ids)[of_text], prepend=-1))
    lengths = np.diff(firsts, append=np.count_nonzero(of_text))
    counts.units += np.bincount(lengths, minlength=len(counts.units))


def build_blocks(
    blocks: Iterable[Block], config: RecordsConfig, vocabulary_file: str | Path, workers: int
) -> Iterator[BuiltBlock]:
    """Yields the blocks as records, in their order, so the number of workers changes nothing.

    Workers are spawned, not forked: a forked TensorFlow hangs. At most three blocks for each wait
    in memory.

    Args:
      blocks: documents, as `cut_into_blocks` yields them.
      config: how text becomes records.
      vocabulary_file: read by every worker.
      workers: processes; 1 = this one.

    Raises:
      ChildProcessError: a worker died.
    """
    if workers == 1:
        yield from map(BlockBuilder(config, vocabulary_file).build, blocks)
        return
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(config, vocabulary_file),
    )
    waiting: deque[Future[BuiltBlock]] = deque()
    try:
        # All workers start now. Python 3.11 starts them as work comes in, and waits for ever for
        # one that it starts while another dies.
        for _ in range(workers):
            pool.submit(os.getpid)
        for block in blocks:
            waiting.append(pool.submit(_build, block))
            if len(waiting) >= 3 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise ChildProcessError(
            f"one of {workers} worker processes ended before its work was done: killed, or out of "
            f"memory (each takes about 1 GB)? Give fewer --workers, then build again"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_builder: BlockBuilder | None = None  # of this worker process; a pool hands its tasks nothing else


def _start_worker(config: RecordsConfig, vocabulary_file: str | Path) -> None:
    global _builder
    # One core each, and no worker takes the memory of a GPU. TensorFlow reads this when it starts
    # its devices, which it has not done yet.
    os.environ.update(
        TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS="1", CUDA_VISIBLE_DEVICES="-1"
    )
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _builder = BlockBuilder(config, vocabulary_file)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # it was killed, and the queue it leaves behind would keep us waiting for ever


def _build(block: Block) -> BuiltBlock:
    assert _builder is not None
    return _builder.build(block)
