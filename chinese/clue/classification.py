"""Classification of a text or a pair: reading, encoding, deciding, scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    window_borders,
)
from chinese.clue.examples import Id, Score, TextExample
from chinese.clue.features import NO_LABEL, ClassificationFeature, Cut
from chinese.clue.files import Node, read_json_lines
from chinese.clue.ids import Ids
from chinese.clue.metrics import accuracy, check_count, most_frequent

NO_MAJORITY = "-"
"""What OCNLI and CMNLI have for a label where people did not agree."""

_ID_FIELDS = ("id", "idx", "index")
_SHOWN_LABELS = 15


def fields(*names: str) -> Callable[[Node], tuple[str, ...]]:
    """Reads the texts of a row from fields, or columns."""
    return lambda row: tuple(row.field(name).text() for name in names)


def keywords_and_abstract(row: Node) -> tuple[str, ...]:
    """Reads a row of CSL: the keywords joined by blanks, then the abstract, as the baseline."""
    keywords = [keyword.text() for keyword in row.field("keyword").items()]
    return " ".join(keywords), row.field("abst").text()


def marked_coreference(row: Node) -> tuple[str, ...]:
    """Reads a row of CLUEWSC: `_` around the noun, `[` and `]` around the pronoun.

    In 464 rows of test 1.1 the pronoun stands first; nothing here depends on the order.

    Raises:
        ValueError: a span that is not where the row says, or spans that overlap.
    """
    text, target = row.field("text").text(), row.field("target")
    marks = []
    for name, opening, closing in (("span1", "_", "_"), ("span2", "[", "]")):
        surface = target.field(f"{name}_text").text()
        start = target.field(f"{name}_index").integer()
        if start < 0 or text[start : start + len(surface)] != surface:
            raise target.error(f"{name}_text {surface!r} does not stand at {start} of the text")
        marks.append((start, start + len(surface), opening, closing))
    (start1, end1, *_), (start2, end2, *_) = marks
    if start1 < end2 and start2 < end1:
        raise target.error("span1 and span2 overlap")
    for start, end, opening, closing in sorted(marks, reverse=True):
        text = f"{text[:start]}{opening}{text[start:end]}{closing}{text[end:]}"
    return (text,)


@dataclass(frozen=True)
class Classification:
    """The family of tasks whose answer is one label.

    Attributes:
        labels: as the files write them, in the order of the classes.
        texts_of: the texts of a row.
        rows_of: the rows of a file.
        label_field: where the label stands.
        other_labels: further ways to write a label.
        missing_text: a text of exactly this stands for none; such a row is not scored.
    """

    labels: tuple[str, ...]
    texts_of: Callable[[Node], tuple[str, ...]]
    rows_of: Callable[[Path], Iterable[Node]] = read_json_lines
    label_field: str = "label"
    other_labels: Mapping[str, str] = field(default_factory=dict)
    missing_text: str | None = None

    head: ClassVar[str] = "classification"
    metric: ClassVar[str] = "accuracy"
    baseline_name: ClassVar[str] = "the most frequent label"

    def read(self, paths: Sequence[Path], has_labels: bool) -> list[TextExample]:
        """Gives every row of some files as an example, in their order.

        Args:
            paths: read one after the other.
            has_labels: False for a test file; what stands there for a label is not looked at.

        Raises:
            ValueError: with path and line, for what cannot be read.
        """
        examples: list[TextExample] = []
        ids = Ids()
        for path in paths:
            for row in self.rows_of(path):
                id_ = _id_of(row, len(examples))
                if not has_labels:
                    ids.add(row, id_)
                texts = self.texts_of(row)
                label = self._label(row) if has_labels else None
                if self.missing_text in texts:
                    label = None
                examples.append(TextExample(id_, texts, label))
        return examples

    def _label(self, row: Node) -> int | None:
        node = row.field(self.label_field)
        # FewCLUE writes some labels as numbers.
        label = node.value if isinstance(node.value, str) else str(node.value)
        label = self.other_labels.get(label, label)
        if label == NO_MAJORITY:
            return None
        if label not in self.labels:
            known = ", ".join(self.labels[:_SHOWN_LABELS])
            more = " …" if len(self.labels) > _SHOWN_LABELS else ""
            raise node.error(f"label {label!r} is none of the {len(self.labels)}: {known}{more}")
        return self.labels.index(label)

    def encode(
        self, examples: Iterable[TextExample], tokenizer: TextTokenizer, settings: TextSettings
    ) -> Iterator[ClassificationFeature]:
        """Yields [CLS] a [SEP] or [CLS] a [SEP] b [SEP], segments 0 and 1, in order of examples."""
        for place, example, lines in tokenized(
            examples, lambda example: example.texts, tokenizer, settings
        ):
            label = NO_LABEL if example.label is None else example.label
            size = sum(len(line.ids) for line in lines)
            cut = _windows if settings.long_text == "windows" else _cut
            windows, lost = cut(lines, settings)
            for number, window in enumerate(windows):
                segments = [Segment(part, line, part) for part, line in enumerate(window)]
                yield ClassificationFeature(
                    place,
                    join(tokenizer.vocabulary, segments),
                    label,
                    Cut(0, 0) if number else Cut(size, lost),
                )

    def decode(
        self,
        examples: Sequence[TextExample],
        features: Sequence[ClassificationFeature],
        outputs: np.ndarray,
        settings: TextSettings,
    ) -> list[int]:
        """Gives the place of the best label for every example.

        Args:
            examples: all that were encoded.
            features: of the examples.
            outputs: float [features, K], logits.
            settings: as they were encoded.

        Raises:
            ValueError: an example has no feature, or a feature no output.
        """
        logits = pool_windows(len(examples), features, np.asarray(outputs), settings.pooling)
        return logits.argmax(axis=1).tolist()

    def score(self, examples: Sequence[TextExample], predictions: Sequence[int]) -> Score:
        """Gives the accuracy."""
        return accuracy([example.label for example in examples], predictions)

    def baseline(self, train: Sequence[TextExample], examples: Sequence[TextExample]) -> list[int]:
        """Predicts the label that is most frequent in the training examples, for all."""
        return [most_frequent(example.label for example in train)] * len(examples)

    def notes(self, examples: Sequence[TextExample]) -> tuple[str, ...]:
        """Gives what a reader should know about the examples."""
        repeated = len(examples) - len({example.id for example in examples})
        return (f"{repeated:,} rows repeat an id",) if repeated else ()

    def answer(self, example: TextExample, prediction: int) -> str:
        """Gives a prediction as it is written into a submission."""
        return self.labels[prediction]

    def answer_defect(self, answer: Any, example: TextExample | None = None) -> str | None:
        """Says what is wrong with an answer of a submission; None where nothing is."""
        if isinstance(answer, str) and answer in self.labels:
            return None
        known = ", ".join(f'"{label}"' for label in self.labels[:_SHOWN_LABELS])
        return f"is none of the label strings {known}{' …' * (len(self.labels) > _SHOWN_LABELS)}"


def _id_of(row: Node, place: int) -> Id:
    for name in _ID_FIELDS:
        if name in row:
            return row.field(name).identifier()
    return place


def _cut(lines: list[Tokens], settings: TextSettings) -> tuple[list[list[Tokens]], int]:
    """Gives the one window, and how many tokens are lost."""
    room = settings.max_length - len(lines) - 1
    sizes = [len(line.ids) for line in lines]
    kept = longest_first(sizes, room, spare_last=False)
    window = [line.cut(0, size) for line, size in zip(lines, kept, strict=True)]
    return [window], sum(sizes) - sum(kept)


def _windows(lines: list[Tokens], settings: TextSettings) -> tuple[list[list[Tokens]], int]:
    """Gives windows over the last text, and how many tokens of the first are lost.

    The first of a pair stands in every window, in half of it at most.
    """
    room = settings.max_length - len(lines) - 1
    before = [line.cut(0, room // 2) for line in lines[:-1]]
    lost = sum(len(line.ids) for line in lines[:-1]) - sum(len(line.ids) for line in before)
    room -= sum(len(line.ids) for line in before)
    borders = window_borders(len(lines[-1].ids), room, settings.stride)
    return [[*before, lines[-1].cut(first, last)] for first, last in borders], lost


def pool_windows(
    num_examples: int,
    features: Sequence[ClassificationFeature],
    logits: np.ndarray,
    pooling: str,
) -> np.ndarray:
    """Gives the logits of every example, float [num_examples, K], from those of its windows.

    Raises:
        ValueError: an example has no feature, or a feature no logits.
    """
    check_count(len(features), len(logits))
    places = np.fromiter((feature.example for feature in features), np.int64, len(features))
    counts = np.bincount(places, minlength=num_examples)
    if len(counts) != num_examples or not counts.all():
        raise ValueError(f"features of {int((counts > 0).sum())} of {num_examples} examples")
    if pooling == "max":
        pooled = np.full((num_examples, logits.shape[1]), -np.inf, dtype=logits.dtype)
        np.maximum.at(pooled, places, logits)
        return pooled
    pooled = np.zeros((num_examples, logits.shape[1]), dtype=logits.dtype)
    np.add.at(pooled, places, logits)
    return pooled / counts[:, None]
