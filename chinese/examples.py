"""Documents in numbers into examples of at most L tokens, nothing thrown away."""

import bisect
import hashlib
import random
from collections.abc import Iterator, Sequence
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


def document_rng(seed: int, document: bytes) -> random.Random:
    """Gives the chance of one document: the same in whatever process and order it is built.

    Args:
        seed: of the build.
        document: its `chinese.documents.fingerprint`.
    """
    data = b"document:%d:" % seed + document
    return random.Random(int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big"))


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
