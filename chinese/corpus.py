"""Documents into examples of at most L tokens, nothing thrown away."""

import bisect
import hashlib
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np

from chinese.characters import SPACE, character_classes, code_points
from chinese.documents import Document
from chinese.segmentation import DEFAULT_UNIT_CAP, Segmenter
from chinese.sentences import sentence_borders
from chinese.spans import tile_from_borders
from chinese.units import unit_ids

ONE_SEGMENT_RATE = 0.10
SHORT_RATE = 0.05
SHORTEST_TARGET = 5
"""Source: google-research/electra at 8a46635, `build_pretraining_dataset.py`."""

_PIECE_CHARACTERS = 1 << 18  # one pass sees about so many: fast, and memory stays flat


class TextEncoder(Protocol):
    """What is needed of a tokenizer: `chinese.tokenizer.Tokenizer`, without its TensorFlow."""

    def encode_flat(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Gives ids int32 [n] and spans int32 [n, 2] of a text."""


class EncodedDocument(NamedTuple):
    """A document in numbers.

    `ids` int32 [n]; `unit_ids` int32 [n], ascending from 1; `sentence_starts` int32 [m], the place
    of every sentence's first token. No unit reaches into two sentences.
    """

    ids: np.ndarray
    unit_ids: np.ndarray
    sentence_starts: np.ndarray


class Example(NamedTuple):
    """One training row, without padding: all int32 [n], n at most the length asked for.

    `input_ids` with [CLS] and [SEP]; `segment_ids` 0 and 1; `unit_ids` 1, 2, 3 … ascending, 0 on
    [CLS] and [SEP].
    """

    input_ids: np.ndarray
    segment_ids: np.ndarray
    unit_ids: np.ndarray


class EncodeCounts:
    """What stages 3 to 6 met, and the seconds they took.

    Attributes:
        sentences: how many there were.
        words: int64 [17]: words that are no blanks, by length in characters; the last place is for
            all of 16 and more.
        seconds: by stage.
    """

    def __init__(self) -> None:
        self.sentences = 0
        self.words = np.zeros(17, dtype=np.int64)
        self.seconds: Counter[str] = Counter()

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Adds the time of a block to a stage."""
        started = time.perf_counter()
        yield
        self.seconds[stage] += time.perf_counter() - started

    def add_words(self, borders: np.ndarray, text: str) -> None:
        """Counts the words of a text by their length."""
        is_blank = character_classes()[code_points(text)[borders[:-1]]] == SPACE
        lengths = np.minimum(np.diff(borders)[~is_blank], len(self.words) - 1)
        self.words += np.bincount(lengths, minlength=len(self.words))


def document_rng(seed: int, document: bytes) -> random.Random:
    """Gives the chance of one document: the same in whatever process and order it is built.

    Args:
        seed: of the build.
        document: its `chinese.documents.fingerprint`.
    """
    data = b"document:%d:" % seed + document
    return random.Random(int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big"))


def encode_document(
    lines: Document,
    tokenizer: TextEncoder,
    segmenter: Segmenter,
    cap: int = DEFAULT_UNIT_CAP,
) -> EncodedDocument:
    """Gives one document in numbers; see `encode_documents`, which is faster for many."""
    return next(encode_documents([lines], tokenizer, segmenter, cap))


def encode_documents(
    documents: Iterable[Document],
    tokenizer: TextEncoder,
    segmenter: Segmenter,
    cap: int = DEFAULT_UNIT_CAP,
    counts: EncodeCounts | None = None,
) -> Iterator[EncodedDocument]:
    """Yields the documents in numbers: sentences, words, tokens, units; one result a document.

    Documents are taken together until there is enough text for one pass; no word, token or unit
    crosses a line end, so the answer does not depend on the company.

    Args:
        documents: as `read_documents` yields them.
        tokenizer: gives ids and spans; see `chinese.tokenizer`.
        segmenter: gives words; see `chinese.segmentation`.
        cap: the largest unit, in tokens.
        counts: filled on the way.
    """
    counts = counts if counts is not None else EncodeCounts()
    waiting: list[str] = []
    num_characters = 0
    for document in documents:
        waiting.append("\n".join(document))
        num_characters += len(waiting[-1]) + 1
        if num_characters >= _PIECE_CHARACTERS:
            yield from _encode_together(waiting, tokenizer, segmenter, cap, counts)
            waiting, num_characters = [], 0
    yield from _encode_together(waiting, tokenizer, segmenter, cap, counts)


def _encode_together(
    texts: list[str],
    tokenizer: TextEncoder,
    segmenter: Segmenter,
    cap: int,
    counts: EncodeCounts,
) -> Iterator[EncodedDocument]:
    if not texts:
        return
    text = "\n".join(texts)
    sizes = np.array([len(part) + 1 for part in texts], dtype=np.int64)
    text_starts = np.cumsum(sizes) - sizes
    with counts.timing("sentences"):
        sentences = np.union1d(sentence_borders(text)[:-1], text_starts)
    counts.sentences += len(sentences)
    ids, starts, units = _encode_text(text, sentences, tokenizer, segmenter, cap, counts)
    sentence_starts = np.unique(np.searchsorted(starts, sentences))
    token_borders = np.searchsorted(starts, np.append(text_starts, len(text) + 1))
    inner_borders = np.searchsorted(sentence_starts, token_borders)
    for index in range(len(texts)):
        first, last = token_borders[index : index + 2].tolist()
        own = units[first:last]
        inner = sentence_starts[inner_borders[index] : inner_borders[index + 1]]
        yield EncodedDocument(
            ids[first:last],
            own - (own[0] - 1) if len(own) else own,
            (inner - first).astype(np.int32),
        )


def _encode_text(
    text: str,
    sentences: np.ndarray,
    tokenizer: TextEncoder,
    segmenter: Segmenter,
    cap: int,
    counts: EncodeCounts,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gives ids int32 [T], first characters int64 [T] and unit ids int32 [T] of a text."""
    ids, starts, units = [], [], []
    num_units = 0
    for first, last in _piece_borders(text, sentences):
        piece = text[first:last]
        with counts.timing("tokens"):
            piece_ids, spans = tokenizer.encode_flat(piece)
        with counts.timing("words"):
            borders = segmenter.borders(piece)
        breaks = sentences[slice(*np.searchsorted(sentences, [first, last]))] - first
        with counts.timing("units"):
            words = tile_from_borders(borders)
            piece_units = unit_ids(spans, words, piece, segmenter.finer_cut, cap, breaks)
            counts.add_words(borders, piece)
        ids.append(piece_ids)
        starts.append(spans[:, 0].astype(np.int64) + first)
        units.append(piece_units + np.int32(num_units))
        num_units += int(piece_units[-1]) if len(piece_units) else 0
    return np.concatenate(ids), np.concatenate(starts), np.concatenate(units)


def _piece_borders(text: str, sentences: np.ndarray) -> list[tuple[int, int]]:
    """Gives stretches of at most `_PIECE_CHARACTERS` characters, cut where nothing changes.

    That is at a line end; in a line that is too long, at a sentence start, which no word and no
    WordPiece crosses. A sentence longer than that is cut where it stands: at worst one word falls
    in two.
    """
    pieces, start, size = [], 0, len(text)
    while start < size:
        end = min(start + _PIECE_CHARACTERS, size)
        if end < size:
            line_end = text.rfind("\n", start, end) + 1
            sentence = int(sentences[np.searchsorted(sentences, end, "right") - 1])
            end = line_end or (sentence if sentence > start else end)
        pieces.append((start, end))
        start = end
    return pieces or [(0, 0)]


def build_examples(
    document: EncodedDocument,
    max_length: int,
    rng: random.Random,
    cls_id: int,
    sep_id: int,
    one_segment_rate: float = ONE_SEGMENT_RATE,
    short_rate: float = SHORT_RATE,
) -> Iterator[Example]:
    """Yields the examples of one document, in order; joined, their tokens are the document.

    Every example is filled to its target length, normally `max_length`. The last sentence is cut
    at a unit border where it no longer fits, and its remainder opens the next example; a unit is
    cut only when it is longer than the whole example. Segment A takes whole sentences up to about
    half of the target, segment B the rest. Where A would leave nothing for B, A is cut at a unit
    border.

    Deviates from the reference, which throws away what it cuts, lets text after B return to A, and
    leaves B empty when one sentence fills the example (16 to 68 % of examples with B on real text).

    Args:
        document: from `encode_document`.
        max_length: the length of an example with [CLS] and [SEP], at least 8.
        rng: `document_rng` of the document; the examples are a function of it and the document.
        cls_id, sep_id: of the vocabulary.
        one_segment_rate: in [0, 1]; how many examples have segment A only, by choice.
        short_rate: in [0, 1]; how many examples have a random shorter target.

    Raises:
        ValueError: for a max_length below 8.

    Source: google-research/electra at 8a46635, `build_pretraining_dataset.py` (the three rates).
    """
    if max_length < 8:
        raise ValueError(f"max_length is {max_length}: give at least 8 tokens")
    cutter = _Cutter(document)
    size, start = len(document.ids), 0
    while start < size:
        target = (
            rng.randint(SHORTEST_TARGET, max_length) if rng.random() < short_rate else max_length
        )
        has_two = rng.random() >= one_segment_rate
        end = cutter.end_of(start, target - 3 if has_two else target - 2, max_length - 3)
        if has_two and end < size <= start + target - 2:
            has_two, end = False, size  # one token more and the document is whole
        middle = cutter.middle_of(start, end, (target - 3) // 2, rng) if has_two else end
        yield _assemble(document, start, middle, end, cls_id, sep_id)
        start = end


class _Cutter:
    """Finds where a document may be cut."""

    def __init__(self, document: EncodedDocument) -> None:
        units = document.unit_ids
        places = np.arange(len(units))
        is_first = np.concatenate([[True], units[1:] != units[:-1]])[: len(units)]
        self._unit_start = np.append(
            np.maximum.accumulate(np.where(is_first, places, 0)), len(units)
        )
        self._sentence_starts = document.sentence_starts.tolist()

    def end_of(self, start: int, budget: int, largest: int) -> int:
        """Gives the last unit border within the budget; a first unit that is longer still fits."""
        size = len(self._unit_start) - 1
        end = int(self._unit_start[min(start + budget, size)])
        if end > start:
            return end
        after = start + 1
        while after < size and self._unit_start[after] <= start and after - start < largest:
            after += 1
        return after

    def middle_of(self, start: int, end: int, a_target: int, rng: random.Random) -> int:
        """Gives where segment B begins; `end` when there is no B."""
        starts = self._sentence_starts
        index = bisect.bisect_right(starts, start)
        while index < len(starts) and starts[index] < end:
            a_size = starts[index] - start
            after = min(starts[index + 1] if index + 1 < len(starts) else end, end)
            fits = after - start < a_target or (a_size < a_target and rng.random() < 0.5)
            if not fits:
                return starts[index]
            index += 1
        if end - start <= max(a_target, 1):
            return end
        middle = int(self._unit_start[start + max(a_target, 1)])
        return middle if middle > start else end


def _assemble(
    document: EncodedDocument, start: int, middle: int, end: int, cls_id: int, sep_id: int
) -> Example:
    a_size, b_size = middle - start, end - middle
    size = a_size + 2 + (b_size + 1 if b_size else 0)
    input_ids, units = np.empty((2, size), dtype=np.int32)
    segment_ids = np.zeros(size, dtype=np.int32)
    after_a = a_size + 1
    input_ids[0], units[0] = cls_id, 0
    input_ids[1:after_a] = document.ids[start:middle]
    units[1:after_a] = document.unit_ids[start:middle]
    input_ids[after_a] = input_ids[-1] = sep_id
    if b_size:
        input_ids[after_a + 1 : -1] = document.ids[middle:end]
        units[after_a + 1 : -1] = document.unit_ids[middle:end]
        segment_ids[after_a + 1 :] = 1
    units -= document.unit_ids[start] - 1
    units[0] = units[after_a] = units[-1] = 0
    return Example(input_ids, segment_ids, units)


def count_text_tokens(examples: Sequence[Example]) -> int:
    """Counts the tokens of text in examples; for one document it must equal `len(document.ids)`."""
    return sum(int(np.count_nonzero(example.unit_ids)) for example in examples)
