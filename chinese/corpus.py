"""Documents into numbers: sentences, words, tokens and units, many documents in one pass."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np

from chinese.characters import SPACE, character_classes, code_points
from chinese.documents import Document
from chinese.segmentation import DEFAULT_UNIT_CAP, Segmenter
from chinese.sentences import sentence_borders
from chinese.spans import tile_from_borders
from chinese.units import unit_ids

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
