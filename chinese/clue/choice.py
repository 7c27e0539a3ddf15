"""Multiple choice on a passage: C3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from chinese.clue.encoding import (
    Segment,
    TextSettings,
    TextTokenizer,
    Tokens,
    join,
    longest_first,
    tokenized,
)
from chinese.clue.examples import ChoiceExample, Score
from chinese.clue.features import NO_LABEL, ChoiceFeature, Cut
from chinese.clue.files import Node, read_json
from chinese.clue.ids import Ids
from chinese.clue.metrics import accuracy, check_count, most_frequent

_NO_CHOICE = "无效答案"


@dataclass(frozen=True)
class MultipleChoice:
    """The family of C3: documents with questions, each with its own choices.

    Attributes:
        num_choices: of a feature; questions have as many at most, and 2 at least.
    """

    num_choices: int = 4

    head: ClassVar[str] = "choice"
    metric: ClassVar[str] = "accuracy"
    baseline_name: ClassVar[str] = "the most frequent place"

    def read(self, paths: Sequence[Path], has_labels: bool) -> list[ChoiceExample]:
        """Gives every question of some files as an example, in their order.

        A file is one list of documents `[turns, questions, id]`; in a test file the documents have
        no id and the questions have one. (The ids of documents are not unique: d-train and m-train
        share some.)

        Args:
            paths: read one after the other: dialogues, then texts.
            has_labels: False for a test file.

        Raises:
            ValueError: with path and line, for what cannot be read.
        """
        examples: list[ChoiceExample] = []
        ids = Ids()
        for path in paths:
            for document in read_json(path).items():
                parts = document.items()
                if len(parts) < 2:
                    raise document.error("a document is a list: turns, questions, id")
                passage = "\n".join(turn.text() for turn in parts[0].items())
                for question in parts[1].items():
                    id_: int | str = len(examples)
                    if "id" in question:
                        id_ = question.field("id").identifier()
                        ids.add(question, id_)
                    examples.append(self._example(id_, passage, question, has_labels))
        return examples

    def _example(
        self, id_: int | str, passage: str, question: Node, has_labels: bool
    ) -> ChoiceExample:
        choices = tuple(choice.text() for choice in question.field("choice").items())
        if not 2 <= len(choices) <= self.num_choices:
            raise question.field("choice").error(
                f"{len(choices)} choices; there should be 2 to {self.num_choices}"
            )
        label = None
        if has_labels:
            answer = question.field("answer")
            if answer.text() not in choices:
                raise answer.error(f"answer {answer.value!r} is none of {', '.join(choices)}")
            label = choices.index(answer.value)  # the first, where a choice stands there twice
        return ChoiceExample(id_, passage, question.field("question").text(), choices, label)

    def encode(
        self, examples: Iterable[ChoiceExample], tokenizer: TextTokenizer, settings: TextSettings
    ) -> Iterator[ChoiceFeature]:
        """Yields, for every choice, [CLS] passage [SEP] question [SEP] choice [SEP]: 0, 1, 1.

        The longest of the three loses tokens until they fit. A question with fewer choices gets
        「无效答案」 for the others, as in the baseline.

        Source: CLUEbenchmark/CLUE at 9d232934, the baseline of C3.
        """
        for place, example, lines in tokenized(
            examples, lambda example: (*example.texts, _NO_CHOICE), tokenizer, settings
        ):
            passage, question, *choices, no_choice = lines
            sequences, lost, size = [], 0, 0
            for part, choice in enumerate(choices, start=2):
                texts = [passage, question, choice]
                sizes = [len(text.ids) for text in texts]
                kept = longest_first(sizes, settings.max_length - 4, spare_last=True)
                size += sum(sizes)
                lost += sum(sizes) - sum(kept)
                sequences.append(_sequence(tokenizer, texts, kept, part))
            padding = [passage, question, no_choice]
            kept = longest_first(
                [len(text.ids) for text in padding], settings.max_length - 4, spare_last=True
            )
            while len(sequences) < self.num_choices:
                sequences.append(_sequence(tokenizer, padding, kept, -1))
            label = NO_LABEL if example.label is None else example.label
            yield ChoiceFeature(place, tuple(sequences), label, Cut(size, lost))

    def decode(
        self,
        examples: Sequence[ChoiceExample],
        features: Sequence[ChoiceFeature],
        outputs: np.ndarray,
        settings: TextSettings,
    ) -> list[int]:
        """Gives the place of the best choice for every question.

        The baseline may answer with a choice that is not there; here only real ones are looked at.

        Args:
            examples: all that were encoded.
            features: of the examples.
            outputs: float [features, C], logits.
            settings: as they were encoded.
        """
        check_count(len(features), len(outputs))
        check_count(len(examples), len(features))
        return [
            int(np.argmax(scores[: len(example.choices)]))
            for example, scores in zip(examples, np.asarray(outputs), strict=True)
        ]

    def score(self, examples: Sequence[ChoiceExample], predictions: Sequence[int]) -> Score:
        """Gives the accuracy over questions."""
        return accuracy([example.label for example in examples], predictions)

    def baseline(
        self, train: Sequence[ChoiceExample], examples: Sequence[ChoiceExample]
    ) -> list[int]:
        """Predicts the place that is most often right in the training examples."""
        place = most_frequent(example.label for example in train)
        return [min(place, len(example.choices) - 1) for example in examples]

    def notes(self, examples: Sequence[ChoiceExample]) -> tuple[str, ...]:
        """Gives what a reader should know about the examples."""
        return ()

    def answer(self, example: ChoiceExample, prediction: int) -> str:
        """Gives a prediction as it is written into a submission."""
        return str(prediction)

    def answer_defect(self, answer: Any, example: ChoiceExample | None = None) -> str | None:
        """Says what is wrong with an answer of a submission; None where nothing is."""
        count = self.num_choices if example is None else len(example.choices)
        if isinstance(answer, str) and answer in map(str, range(count)):
            return None
        return f'is none of "0" to "{count - 1}"'


def _sequence(tokenizer: TextTokenizer, texts: list[Tokens], kept: list[int], part: int):
    passage, question, choice = (text.cut(0, size) for text, size in zip(texts, kept, strict=True))
    if part < 0:  # the padding stands in no text of the example
        choice = choice._replace(spans=np.zeros_like(choice.spans))
    segments = [Segment(0, passage, 0), Segment(1, question, 1), Segment(part, choice, 1)]
    return join(tokenizer.vocabulary, segments)
