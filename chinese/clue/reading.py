"""Answers that are stretches of a context: CMRC 2018, DRCD, and one's own of that form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from chinese.clue.encoding import (
    Segment,
    TextSettings,
    TextTokenizer,
    Tokens,
    join,
    max_context_windows,
    tokenized,
    window_borders,
)
from chinese.clue.examples import Answer, ReadingExample, Score, SpanPrediction
from chinese.clue.features import Cut, SpanCandidates, SpanFeature
from chinese.clue.files import Node, read_json
from chinese.clue.ids import Ids
from chinese.clue.metrics import check_count
from chinese.clue.reading_metrics import reading_scores
from chinese.sentences import split_sentences

_NO_ANSWER = Answer("", -1)


class FieldNames(NamedTuple):
    """How a form calls the parts of a question."""

    context: str
    question: str
    id: str


SQUAD_NAMES = FieldNames("context", "question", "id")
_CMRC_NAMES = FieldNames("context_text", "query_text", "query_id")


def squad_questions(path: Path) -> Iterator[tuple[str, Node, FieldNames]]:
    """Yields the questions of a file in SQuAD's form, or in the first one of CMRC."""
    tree = read_json(path)
    if isinstance(tree.value, list):
        paragraphs, names = tree.items(), _CMRC_NAMES
    else:
        articles = tree.field("data").items()
        paragraphs = [part for article in articles for part in article.field("paragraphs").items()]
        names = SQUAD_NAMES
    for paragraph in paragraphs:
        context = paragraph.field(names.context).text()
        for question in paragraph.field("qas").items():
            yield context, question, names


@dataclass(frozen=True)
class Reading:
    """The family of span extraction, in SQuAD's form or CMRC's first one.

    Attributes:
        questions_of: context, question and names of its fields, for all questions of a file.
        refuses_lost_answers: an answer that does not stand in its context is an error; CMRC has
            193 of them, which are scored and never trained on.
        null_threshold: answer nothing where the lowest `unanswerable` of the windows is above it;
            None where every question has an answer.
    """

    questions_of: Callable[[Path], Iterator[tuple[str, Node, FieldNames]]] = squad_questions
    refuses_lost_answers: bool = False
    null_threshold: float | None = None

    head: ClassVar[str] = "span"
    metric: ClassVar[str] = "EM"
    baseline_name: ClassVar[str] = "the sentence that shares most characters with the question"

    def read(self, paths: Sequence[Path], has_labels: bool) -> list[ReadingExample]:
        """Gives every question of some files as an example, in their order.

        Args:
            paths: read one after the other.
            has_labels: False for a test file: CMRC's has FAKE_ANSWER_1 and its kin.

        Raises:
            ValueError: with path and line, for what cannot be read.
        """
        examples: list[ReadingExample] = []
        ids = Ids()
        for path in paths:
            for context, question, names in self.questions_of(path):
                id_ = question.field(names.id).identifier()
                ids.add(question, id_)
                answers = self._answers(context, question) if has_labels else ()
                text = question.field(names.question).text()
                examples.append(ReadingExample(id_, context, text, answers))
        return examples

    def _answers(self, context: str, question: Node) -> tuple[Answer, ...]:
        if "is_impossible" in question and question.field("is_impossible").value is True:
            return (_NO_ANSWER,)
        nodes = question.field("answers").items()
        if not nodes:
            raise question.error('no answers; where there is none, say "is_impossible": true')
        return tuple(self._answer(context, node) for node in nodes)

    def _answer(self, context: str, node: Node) -> Answer:
        if isinstance(node.value, str):
            text, start = node.text(), -1
        else:
            text, start = node.field("text").text(), node.field("answer_start").integer()
        if not text.strip():
            raise node.error("the answer is blank")
        # The offset is often wrong by a few characters, or -1 though the text stands there.
        if start < 0 or context[start : start + len(text)] != text:
            start = _nearest(context, text, start)
        if start < 0 and self.refuses_lost_answers:
            raise node.error(f"answer {text!r} does not stand in its context")
        return Answer(text, start)

    def encode(
        self, examples: Iterable[ReadingExample], tokenizer: TextTokenizer, settings: TextSettings
    ) -> Iterator[SpanFeature]:
        """Yields windows [CLS] question [SEP] stretch of the context [SEP], segments 0 and 1.

        The question is cut at `max_query_length`; the context is never cut. An answer begins and
        ends with whole tokens; of several the first that stands in the context is taught.

        Source: google-research/electra at 8a46635, `finetune/qa`, with characters for words.
        """
        for place, example, (question, context) in tokenized(
            examples, lambda example: example.texts, tokenizer, settings
        ):
            # A question as long as the window would leave no room for the context.
            most = min(settings.max_query_length, (settings.max_length - 3) // 2)
            query = question.cut(0, most)
            room = settings.max_length - len(query.ids) - 3
            borders = window_borders(len(context.ids), room, settings.stride)
            window_of = max_context_windows(len(context.ids), borders)
            answer = _answer_tokens(example, context)
            cut = Cut(len(question.ids) + len(context.ids), len(question.ids) - len(query.ids))
            for window, (first, last) in enumerate(borders):
                sequence = join(
                    tokenizer.vocabulary,
                    [Segment(0, query, 0), Segment(1, context.cut(first, last), 1)],
                )
                before = len(query.ids) + 2
                is_max_context = np.zeros(len(sequence.input_ids), dtype=bool)
                is_max_context[before : before + last - first] = window_of[first:last] == window
                start, end = answer
                is_inside = first <= start <= end < last
                shift = before - first
                yield SpanFeature(
                    place,
                    window,
                    sequence,
                    sequence.parts == 1,
                    is_max_context,
                    start + shift if is_inside else 0,
                    end + shift if is_inside else 0,
                    cut if window == 0 else Cut(0, 0),
                )

    def decode(
        self,
        examples: Sequence[ReadingExample],
        features: Sequence[SpanFeature],
        outputs: Sequence[SpanCandidates],
        settings: TextSettings,
    ) -> list[SpanPrediction]:
        """Gives the best answer to every question, cut out of its context.

        A candidate counts where it begins and ends in the context, begins at a token with most
        text around it in this window, does not end before it begins, and is no longer than
        `max_answer_length` tokens. The highest score over all windows wins, the first of equals.

        Args:
            examples: all that were encoded.
            features: of the examples.
            outputs: what the head found, one entry a feature.
            settings: as they were encoded.

        Raises:
            ValueError: an example has no feature, or a feature no output.
        """
        check_count(len(features), len(outputs))
        best = [SpanPrediction("", -1, -1, -np.inf)] * len(examples)
        unanswerable = np.full(len(examples), np.inf)
        is_seen = np.zeros(len(examples), dtype=bool)
        for feature, found in zip(features, outputs, strict=True):
            place = feature.example
            is_seen[place] = True
            unanswerable[place] = min(unanswerable[place], found.unanswerable)
            candidate = _best_candidate(feature, found, settings.max_answer_length)
            if candidate is not None and candidate[2] > best[place].score:
                first, last, score = candidate
                start = int(feature.sequence.spans[first, 0])
                end = int(feature.sequence.spans[last, 1])
                text = examples[place].context[start:end]
                best[place] = SpanPrediction(text, start, end, score)
        if not is_seen.all():
            raise ValueError(f"features of {int(is_seen.sum())} of {len(examples)} examples")
        if self.null_threshold is not None:
            for place in np.flatnonzero(unanswerable > self.null_threshold).tolist():
                best[place] = SpanPrediction("", -1, -1, best[place].score)
        return best

    def score(
        self, examples: Sequence[ReadingExample], predictions: Sequence[SpanPrediction]
    ) -> Score:
        """Gives exact match, with F1 and the mean of both, by CMRC's rules."""
        check_count(len(examples), len(predictions))
        found = {
            example.id: prediction.text
            for example, prediction in zip(examples, predictions, strict=True)
        }
        gold = {
            example.id: [answer.text for answer in example.answers]
            for example in examples
            if example.is_labelled
        }
        scores = reading_scores(gold, found)
        details = {"F1": scores.f1, "average": scores.average}
        return Score("EM", scores.em, details, scores.total, len(examples) - scores.total)

    def baseline(
        self, train: Sequence[ReadingExample], examples: Sequence[ReadingExample]
    ) -> list[SpanPrediction]:
        """Answers with the sentence that shares most characters with the question."""
        return [_closest_sentence(example) for example in examples]

    def notes(self, examples: Sequence[ReadingExample]) -> tuple[str, ...]:
        """Gives what a reader should know about the examples."""
        answers = [answer for example in examples for answer in example.answers]
        lost = sum(answer.start < 0 and bool(answer.text) for answer in answers)
        if not lost:
            return ()
        return (
            f"{lost:,} of {len(answers):,} answers do not stand in their context: "
            "scored, never trained on",
        )

    def answer(self, example: ReadingExample, prediction: SpanPrediction) -> str:
        """Gives a prediction as it is written into a submission."""
        return prediction.text

    def answer_defect(self, answer: Any, example: ReadingExample | None = None) -> str | None:
        """Says what is wrong with an answer of a submission; None where nothing is."""
        return None if isinstance(answer, str) else "is no text"


def _nearest(context: str, text: str, start: int) -> int:
    """Gives where a text stands next to `start`; the first place for -1; -1 where it does not."""
    places, place = [], context.find(text)
    while place >= 0:
        places.append(place)
        place = context.find(text, place + 1)
    return min(places, key=lambda place: abs(place - max(start, 0)), default=-1)


def _answer_tokens(example: ReadingExample, context: Tokens) -> tuple[int, int]:
    """Gives the first and last token of the answer to teach; (0, -1) where there is none."""
    answer = next((answer for answer in example.answers if answer.start >= 0), None)
    if answer is None:
        return 0, -1
    end = answer.start + len(answer.text)
    first = int(np.searchsorted(context.spans[:, 1], answer.start, side="right"))
    last = int(np.searchsorted(context.spans[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else (0, -1)


def _best_candidate(
    feature: SpanFeature, found: SpanCandidates, max_answer_length: int
) -> tuple[int, int, float] | None:
    starts, ends = np.asarray(found.starts), np.asarray(found.ends)
    scores = np.asarray(found.scores, dtype=np.float64)
    allowed = (starts <= ends) & (ends - starts < max_answer_length)
    allowed &= feature.is_max_context[starts] & feature.is_context[ends]
    allowed &= np.isfinite(scores)
    if not allowed.any():
        return None
    best = int(np.argmax(np.where(allowed, scores, -np.inf)))
    return int(starts[best]), int(ends[best]), float(scores[best])


def _closest_sentence(example: ReadingExample) -> SpanPrediction:
    asked = set(example.question)
    best = SpanPrediction("", -1, -1, -1.0)
    for start, end in split_sentences(example.context):
        sentence = example.context[start:end].rstrip()
        shared = len(asked & set(sentence))
        if shared > best.score:
            best = SpanPrediction(sentence, start, start + len(sentence), float(shared))
    return best
