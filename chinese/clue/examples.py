"""Examples, predictions and scores, as plain named tuples.

Character offsets count code points of the text as it stands in the example, `end` exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Id = int | str


class TextExample(NamedTuple):
    """A text, or a pair of texts, to be classified.

    Fields:
      id: as the file has it, else the place of the row.
      texts: one or two.
      label: place in the task's labels; None in a test file, and where people did not agree.
    """

    id: Id
    texts: tuple[str, ...]
    label: int | None

    @property
    def is_labelled(self) -> bool:
        """Says whether it can be trained on and scored."""
        return self.label is not None


class ChoiceExample(NamedTuple):
    """A question on a passage, with answers to choose from.

    Fields:
      id: of the question.
      passage: the text; turns of a dialogue are lines.
      question: may be a sentence with a gap.
      choices: two or more.
      label: place of the right one.
    """

    id: Id
    passage: str
    question: str
    choices: tuple[str, ...]
    label: int | None

    @property
    def texts(self) -> tuple[str, ...]:
        """What the tokens of a feature point into."""
        return (self.passage, self.question, *self.choices)

    @property
    def is_labelled(self) -> bool:
        """Says whether it can be trained on and scored."""
        return self.label is not None


class ClozeExample(NamedTuple):
    """One blank of a passage, with idioms to choose from.

    Fields:
      id: of the blank, `#idiom000378#`, or of the row.
      record: blanks of one record have the same candidates and different answers.
      passage: the text with its blanks.
      blank: characters [start, end) of this blank.
      other_blanks: of the same passage.
      candidates: idioms.
      label: place of the right one.
    """

    id: Id
    record: int
    passage: str
    blank: tuple[int, int]
    other_blanks: tuple[tuple[int, int], ...]
    candidates: tuple[str, ...]
    label: int | None

    @property
    def texts(self) -> tuple[str, ...]:
        """What the tokens of a feature point into."""
        return (self.passage, *self.candidates)

    @property
    def is_labelled(self) -> bool:
        """Says whether it can be trained on and scored."""
        return self.label is not None


class Answer(NamedTuple):
    """An answer by people: `start` in characters of the context, -1 where it does not stand."""

    text: str
    start: int


class ReadingExample(NamedTuple):
    """A question whose answer is a stretch of the context.

    Fields:
      id: of the question.
      context: the text.
      question: text.
      answers: every one is right; () in a test file. For a question that has no answer in the
        context, one Answer("", -1).
    """

    id: Id
    context: str
    question: str
    answers: tuple[Answer, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """What the tokens of a feature point into."""
        return (self.question, self.context)

    @property
    def is_labelled(self) -> bool:
        """Says whether it can be trained on and scored."""
        return bool(self.answers)


class Entity(NamedTuple):
    """A stretch of text of one type, characters [start, end)."""

    type: str
    start: int
    end: int


class TaggingExample(NamedTuple):
    """A text with its entities; None in a test file."""

    id: Id
    text: str
    entities: tuple[Entity, ...] | None

    @property
    def texts(self) -> tuple[str, ...]:
        """What the tokens of a feature point into."""
        return (self.text,)

    @property
    def is_labelled(self) -> bool:
        """Says whether it can be trained on and scored."""
        return self.entities is not None


Example = TextExample | ChoiceExample | ClozeExample | ReadingExample | TaggingExample


class SpanPrediction(NamedTuple):
    """An answer: the characters [start, end) of the context, as they stand there.

    `text` is "" and (start, end) = (-1, -1) where the question is thought to have no answer, or
    nothing that was found can be one. `score` is that of the candidate.
    """

    text: str
    start: int
    end: int
    score: float


class Score(NamedTuple):
    """How good predictions are.

    Fields:
      metric: name of the number that counts.
      value: that number, in percent.
      details: further numbers, in percent.
      num_scored: examples behind them.
      num_unlabelled: examples left out of them, as people did not agree on a label.
    """

    metric: str
    value: float
    details: Mapping[str, float]
    num_scored: int
    num_unlabelled: int
