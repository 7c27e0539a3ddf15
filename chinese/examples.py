"""Documents in numbers into examples of at most L tokens, nothing thrown away."""

import bisect
import hashlib
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chinese.corpus import EncodedDocument

ONE_SEGMENT_RATE = 0.10
SHORT_RATE = 0.05
SHORTEST_TARGET = 5
"""Source: google-research/electra at 8a46635, `build_pretraining_dataset.py`."""


class Example(NamedTuple):
    """One training row, without padding: all int32 [n], n at most the length asked for.

    `input_ids` with [CLS] and [SEP]; `segment_ids` 0 and 1; `unit_ids` 1, 2, 3 … ascending, 0 on
    [CLS] and [SEP].
    """

    input_ids: np.ndarray
    segment_ids: np.ndarray
    unit_ids: np.ndarray


class Cut(NamedTuple):
    """Where an example is cut out of a document, in tokens.

    Segment A goes from `start` to `middle`, B from there to `end`; without B `middle` is `end`.
    """

    start: int
    middle: int
    end: int


def document_rng(seed: int, document: bytes) -> random.Random:
    """Gives the chance of one document: the same in whatever process and order it is built.

    Args:
        seed: of the build.
        document: its `chinese.documents.fingerprint`.
    """
    data = b"document:%d:" % seed + document
    return random.Random(int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big"))


def cut_examples(
    document: EncodedDocument,
    max_length: int,
    rng: random.Random,
    one_segment_rate: float = ONE_SEGMENT_RATE,
    short_rate: float = SHORT_RATE,
) -> list[Cut]:
    """Gives the examples of one document, in order; each begins where the one before it ends.

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
    cuts = []
    while start < size:
        target = (
            rng.randint(SHORTEST_TARGET, max_length) if rng.random() < short_rate else max_length
        )
        has_two = rng.random() >= one_segment_rate
        end = cutter.end_of(start, target - 3 if has_two else target - 2, max_length - 3)
        if has_two and end < size <= start + target - 2:
            has_two, end = False, size  # one token more and the document is whole
        middle = cutter.middle_of(start, end, (target - 3) // 2, rng) if has_two else end
        cuts.append(Cut(start, middle, end))
        start = end
    return cuts


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


def assemble_examples(
    documents: Sequence[EncodedDocument], cuts: Sequence[Sequence[Cut]], cls_id: int, sep_id: int
) -> tuple[Example, np.ndarray]:
    """Gives the examples of some documents laid end to end, and int64 [N] tokens of each.

    All at once: one by one they took twice as long as finding the cuts.

    Args:
        documents: in numbers.
        cuts: of each document, from `cut_examples`.
        cls_id, sep_id: of the vocabulary.
    """
    tokens = [len(document.ids) for document in documents]
    num_cuts = [len(of_document) for of_document in cuts]
    flat = np.array([cut for of_document in cuts for cut in of_document], np.int64).reshape(-1, 3)
    first_token = np.cumsum([0, *tokens])[:-1]
    start, middle, end = (flat + np.repeat(first_token, num_cuts)[:, None]).T
    has_b = middle < end
    sizes = end - start + 2 + has_b
    row_start = np.cumsum(sizes) - sizes

    # A token moves by [CLS] and [SEP] of the rows before it, its own [CLS] and the [SEP] of A.
    text_sizes = end - start
    place = np.arange(text_sizes.sum())
    place += np.repeat(row_start - start + 1, text_sizes) + (place >= np.repeat(middle, text_sizes))
    input_ids = np.full(sizes.sum(), sep_id, np.int32)
    unit_ids = np.zeros(sizes.sum(), np.int32)
    if len(sizes):
        input_ids[row_start] = cls_id
        input_ids[place] = np.concatenate([document.ids for document in documents])
        units = np.concatenate([document.unit_ids for document in documents])
        unit_ids[place] = units - np.repeat(units[start] - 1, text_sizes)
    is_b = np.arange(len(input_ids)) >= np.repeat(row_start + middle - start + 2, sizes)
    return Example(input_ids, is_b.astype(np.int32), unit_ids), sizes


def build_examples(
    document: EncodedDocument,
    max_length: int,
    rng: random.Random,
    cls_id: int,
    sep_id: int,
    one_segment_rate: float = ONE_SEGMENT_RATE,
    short_rate: float = SHORT_RATE,
) -> list[Example]:
    """Gives the examples of one document: cut, then assembled. Many go faster together."""
    cuts = cut_examples(document, max_length, rng, one_segment_rate, short_rate)
    columns, sizes = assemble_examples([document], [cuts], cls_id, sep_id)
    parts = [np.split(column, np.cumsum(sizes)[:-1]) for column in columns]
    return [Example(*row) for row in zip(*parts, strict=True)] if cuts else []
