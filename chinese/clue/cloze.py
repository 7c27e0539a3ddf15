"""Idioms for the blanks of a passage: ChID, and FewCLUE's small one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from chinese.clue.encoding import (
    Segment,
    TextSettings,
    TextTokenizer,
    Tokens,
    join,
    tokenized,
)
from chinese.clue.examples import ClozeExample, Score
from chinese.clue.features import NO_LABEL, ChoiceFeature, Cut
from chinese.clue.files import Node, read_json, read_json_lines
from chinese.clue.ids import Ids
from chinese.clue.metrics import accuracy, check_count, most_frequent

if TYPE_CHECKING:
    from chinese.vocab import Vocabulary

_BLANK = re.compile(r"#idiom\d*#")
_MASKS_FOR_ANOTHER_BLANK = 4
_PLAIN_SIGNS = str.maketrans("“”„‟‘’‛—―–", '""""\'\'\'---')  # one for one: offsets stay


@dataclass(frozen=True)
class Cloze:
    """The family of ChID: every blank is an example.

    Attributes:
        num_candidates: idioms to choose from.
        has_answer_files: ChID's answers stand in a file of their own, and its rows hold several
            passages; a row of FewCLUE is one passage with one blank, and its answer.
    """

    num_candidates: int
    has_answer_files: bool

    head: ClassVar[str] = "choice"
    metric: ClassVar[str] = "accuracy"
    baseline_name: ClassVar[str] = "the most frequent place"

    def read(self, paths: Sequence[Path], has_labels: bool) -> list[ClozeExample]:
        """Gives every blank of some files as an example, in their order.

        Args:
            paths: rows; behind them the file of their answers, where there is one.
            has_labels: False for a test file.

        Raises:
            ValueError: with path and line, for what cannot be read.
        """
        answers = None
        if has_labels and self.has_answer_files:
            *paths, last = paths
            answers = read_json(last)
        examples: list[ClozeExample] = []
        ids = Ids()
        record = 0
        for path in paths:
            for row in read_json_lines(path):
                for example in self._examples(row, record, ids):
                    if has_labels:
                        label = self._label(row, example, answers)
                        example = example._replace(label=label)
                    examples.append(example)
                record += 1
        return examples

    def _examples(self, row: Node, record: int, ids: Ids) -> Iterator[ClozeExample]:
        candidates = tuple(idiom.text() for idiom in row.field("candidates").items())
        if len(candidates) != self.num_candidates:
            raise row.field("candidates").error(
                f"{len(candidates)} candidates; there should be {self.num_candidates}"
            )
        content = row.field("content")
        for passage in content.items() if self.has_answer_files else [content]:
            text = passage.text()
            blanks = [match.span() for match in _BLANK.finditer(text)]
            if not self.has_answer_files and len(blanks) != 1:
                raise passage.error(f"{len(blanks)} blanks #idiom#; there should be one")
            for place, (start, end) in enumerate(blanks):
                id_ = text[start:end] if self.has_answer_files else row.field("id").identifier()
                ids.add(passage, id_)
                others = tuple(blanks[:place] + blanks[place + 1 :])
                yield ClozeExample(id_, record, text, (start, end), others, candidates, None)

    def _label(self, row: Node, example: ClozeExample, answers: Node | None) -> int:
        if answers is None:
            node = row.field("answer")
        elif example.id in answers:
            node = answers.field(str(example.id))
        else:
            raise row.error(f"blank {example.id} has no answer in {answers.source.path}")
        if not 0 <= node.integer() < len(example.candidates):
            raise node.error(
                f"answer {node.value} is no place among {len(example.candidates)} candidates"
            )
        return node.value

    def encode(
        self, examples: Iterable[ClozeExample], tokenizer: TextTokenizer, settings: TextSettings
    ) -> Iterator[ChoiceFeature]:
        """Yields, for every candidate, [CLS] idiom [SEP] left [unused1] right [SEP], segment 0.

        As much of the passage as fits, the blank in its middle; another blank is four [MASK];
        quotes and dashes are those of ASCII, if the vocabulary has them. A vocabulary without
        [unused1] has [MASK] there.

        Source: CLUEbenchmark/CLUE at 9d232934, the baseline of ChID.
        """
        known = tokenizer.vocabulary.ids
        blank_id = known.get("[unused1]", tokenizer.vocabulary.mask_id)
        plain = {sign: to for sign, to in _PLAIN_SIGNS.items() if chr(to) in known}
        for place, example, lines in tokenized(
            examples, lambda example: _texts(example, plain), tokenizer, settings
        ):
            stretches = lines[: -len(example.candidates)]
            idioms = lines[-len(example.candidates) :]
            left, right = _around(example, stretches, tokenizer.vocabulary)
            room = settings.max_length - 4 - max(len(idiom.ids) for idiom in idioms)
            if room < 2:
                raise ValueError(
                    f"max_length {settings.max_length} leaves no room around a blank "
                    f"({', '.join(example.candidates)}); raise it"
                )
            keep_left = min(len(left.ids), max(room // 2, room - len(right.ids)))
            keep_right = min(len(right.ids), room - keep_left)
            blank = _repeated(blank_id, 1, example.blank)
            passage = _joined(
                [
                    left.cut(len(left.ids) - keep_left, len(left.ids)),
                    blank,
                    right.cut(0, keep_right),
                ]
            )
            size = len(left.ids) + 1 + len(right.ids)
            yield ChoiceFeature(
                place,
                tuple(
                    join(tokenizer.vocabulary, [Segment(part, idiom, 0), Segment(0, passage, 0)])
                    for part, idiom in enumerate(idioms, start=1)
                ),
                NO_LABEL if example.label is None else example.label,
                Cut(size, size - len(passage.ids)),
            )

    def decode(
        self,
        examples: Sequence[ClozeExample],
        features: Sequence[ChoiceFeature],
        outputs: np.ndarray,
        settings: TextSettings,
    ) -> list[int]:
        """Gives the place of an idiom for every blank; blanks of a record get different ones.

        The assignment with the highest sum of scores is taken. A row of scores may be shifted, as
        logits are, without changing it.

        Args:
            examples: all that were encoded.
            features: of the examples.
            outputs: float [features, C], logits.
            settings: as they were encoded.
        """
        check_count(len(features), len(outputs))
        check_count(len(examples), len(features))
        records: dict[int, list[int]] = defaultdict(list)
        for place, example in enumerate(examples):
            records[example.record].append(place)
        scores = np.asarray(outputs)
        # More blanks than idioms would leave some blanks empty: they take their best one.
        predictions = scores.argmax(axis=1)
        for places in records.values():
            rows, columns = linear_sum_assignment(scores[places], maximize=True)
            predictions[np.array(places)[rows]] = columns
        return predictions.tolist()

    def score(self, examples: Sequence[ClozeExample], predictions: Sequence[int]) -> Score:
        """Gives the accuracy over blanks."""
        return accuracy([example.label for example in examples], predictions)

    def baseline(
        self, train: Sequence[ClozeExample], examples: Sequence[ClozeExample]
    ) -> list[int]:
        """Predicts the place that is most often right in the training examples."""
        return [most_frequent(example.label for example in train)] * len(examples)

    def notes(self, examples: Sequence[ClozeExample]) -> tuple[str, ...]:
        """Gives what a reader should know about the examples."""
        return ()

    def answer(self, example: ClozeExample, prediction: int) -> int:
        """Gives a prediction as it is written into a submission."""
        return prediction

    def answer_defect(self, answer: Any, example: ClozeExample | None = None) -> str | None:
        """Says what is wrong with an answer of a submission; None where nothing is."""
        if type(answer) is int and 0 <= answer < self.num_candidates:
            return None
        return f"is no integer from 0 to {self.num_candidates - 1}"


def _borders(example: ClozeExample) -> list[tuple[int, int]]:
    return sorted([example.blank, *example.other_blanks])


def _texts(example: ClozeExample, plain: dict[int, int]) -> list[str]:
    """The stretches between the blanks, then the candidates."""
    starts = [0, *(end for _, end in _borders(example))]
    ends = [*(start for start, _ in _borders(example)), len(example.passage)]
    passage = example.passage.translate(plain)
    stretches = [passage[start:end] for start, end in zip(starts, ends, strict=True)]
    return [*stretches, *example.candidates]


def _around(
    example: ClozeExample, stretches: list[Tokens], vocabulary: Vocabulary
) -> tuple[Tokens, Tokens]:
    """Gives what stands before the blank, and behind it, with offsets into the passage."""
    left: list[Tokens] = []
    right: list[Tokens] = []
    side, offset = left, 0
    for stretch, blank in zip(stretches, [*_borders(example), None], strict=True):
        side.append(stretch._replace(spans=stretch.spans + np.int32(offset)))
        if blank == example.blank:
            side = right
        elif blank is not None:
            side.append(_repeated(vocabulary.mask_id, _MASKS_FOR_ANOTHER_BLANK, blank))
        offset = blank[1] if blank else 0
    return _joined(left), _joined(right)


def _repeated(token_id: int, count: int, span: tuple[int, int]) -> Tokens:
    return Tokens(
        np.full(count, token_id, dtype=np.int32),
        np.tile(np.array([span], dtype=np.int32), (count, 1)),
    )


def _joined(parts: list[Tokens]) -> Tokens:
    return Tokens(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.spans for part in parts]),
    )
