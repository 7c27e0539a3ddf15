"""What heads see and what they give back: plain numpy arrays, not padded, with offsets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from chinese.clue.examples import Example

NO_LABEL = -1
"""The label of a feature whose example has none, and the tag of a token that is not scored."""


class TokenSequence(NamedTuple):
    """One input of the encoder, not padded.

    Fields:
      input_ids: int32 [n], [CLS] first, [SEP] last.
      segment_ids: int32 [n], 0 or 1.
      parts: int32 [n], which of the example's `texts` a token stands in; -1 = [CLS], [SEP].
      spans: int32 [n, 2], its characters there; (0, 0) where parts is -1.
    """

    input_ids: np.ndarray
    segment_ids: np.ndarray
    parts: np.ndarray
    spans: np.ndarray

    def quote(self, example: Example, token: int) -> str:
        """Gives the characters a token stands for; "" for [CLS] and [SEP]."""
        part = int(self.parts[token])
        start, end = self.spans[token].tolist()
        return example.texts[part][start:end] if part >= 0 else ""


class Cut(NamedTuple):
    """Tokens of an example, and how many of them are in no feature of it.

    Told by the first feature of every example; zeros in the others, so that sums are right.
    """

    tokens: int
    lost: int


class ClassificationFeature(NamedTuple):
    """What a classification head sees: one of an example, or its windows in order.

    Fields:
      example: place of the example.
      sequence: the text or pair.
      label: place in the task's labels, or NO_LABEL.
      cut: see Cut.
    """

    example: int
    sequence: TokenSequence
    label: int
    cut: Cut


class ChoiceFeature(NamedTuple):
    """What a choice head sees: the same number C of sequences for every feature of a task.

    Fields:
      example: place of the example.
      sequences: C of them, one a choice.
      label: place of the right one, or NO_LABEL.
      cut: see Cut.
    """

    example: int
    sequences: tuple[TokenSequence, ...]
    label: int
    cut: Cut


class SpanFeature(NamedTuple):
    """What a span head sees: one window of a context.

    Fields:
      example: place of the example.
      window: 0, 1, 2 … within the example.
      sequence: [CLS] question [SEP] stretch of the context [SEP].
      is_context: bool [n], the tokens of the context. The reference's head also allows position 0.
      is_max_context: bool [n], the tokens of the context that no other window shows with more text
        around; an answer must begin at one of them.
      start, end: tokens of the answer, both inclusive; (0, 0), which is [CLS], where the window
        does not hold it whole, or the example has no answer in its context.
      cut: see Cut.
    """

    example: int
    window: int
    sequence: TokenSequence
    is_context: np.ndarray
    is_max_context: np.ndarray
    start: int
    end: int
    cut: Cut


class TaggingFeature(NamedTuple):
    """What a tagging head sees: one window of a text.

    Fields:
      example: place of the example.
      window: 0, 1, 2 … within the example.
      sequence: [CLS] text [SEP].
      tags: int32 [n], place in the task's tags; NO_LABEL at [CLS], [SEP], and everywhere in an
        example without entities to learn from.
      is_max_context: bool [n], the tokens whose tag is taken from this window.
      num_lost_entities: entities that tags cannot hold, as they overlap longer ones.
      cut: see Cut.
    """

    example: int
    window: int
    sequence: TokenSequence
    tags: np.ndarray
    is_max_context: np.ndarray
    num_lost_entities: int
    cut: Cut


Feature = ClassificationFeature | ChoiceFeature | SpanFeature | TaggingFeature


class SpanCandidates(NamedTuple):
    """What a span head found in one window, in any order.

    Fields:
      starts, ends: int [k], tokens of the window, both inclusive.
      scores: float [k], log-probabilities or logits; the highest is best.
      unanswerable: a logit, > 0 where the window is thought to hold no answer.
    """

    starts: np.ndarray
    ends: np.ndarray
    scores: np.ndarray
    unanswerable: float = -np.inf


class Truncation(NamedTuple):
    """How much of some examples their features leave out.

    >>> print(Truncation(200, 3, 10_000, 250))
    3 of 200 examples cut (1.50%), 2.50% of all tokens left out
    """

    num_examples: int
    num_cut: int
    num_tokens: int
    num_lost: int

    @property
    def cut_rate(self) -> float:
        """The share of the examples that lost something."""
        return self.num_cut / max(1, self.num_examples)

    @property
    def lost_rate(self) -> float:
        """The share of the tokens that are in no feature."""
        return self.num_lost / max(1, self.num_tokens)

    def __str__(self) -> str:
        return (
            f"{self.num_cut:,} of {self.num_examples:,} examples cut ({self.cut_rate:.2%}), "
            f"{self.lost_rate:.2%} of all tokens left out"
        )


def truncation(features: Iterable[Feature]) -> Truncation:
    """Sums up what features leave out of their examples."""
    examples = 0
    cut = tokens = lost = 0
    last = None
    for feature in features:
        examples += feature.example != last
        last = feature.example
        cut += feature.cut.lost > 0
        tokens += feature.cut.tokens
        lost += feature.cut.lost
    return Truncation(examples, cut, tokens, lost)
