"""Entities in a text: CLUENER 2020, and one's own; BIOS tags on tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

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
from chinese.clue.examples import Entity, Score, TaggingExample
from chinese.clue.features import NO_LABEL, Cut, TaggingFeature
from chinese.clue.files import Node, read_json_lines
from chinese.clue.ids import Ids
from chinese.clue.metrics import check_count, entity_scores

OUTSIDE = "O"


def cluener_entities(row: Node) -> tuple[Entity, ...]:
    """Reads `label` of a row: {type: {string: [[first, last], …]}}, the last character inclusive.

    Raises:
        ValueError: a string that does not stand where the row says.
    """
    text, label = row.field("text").text(), row.field("label")
    found = []
    for name in _names(label):
        for surface in _names(label.field(name)):
            for span in label.field(name).field(surface).items():
                start, last = _pair(span)
                end = start + len(surface)  # a slice beyond the text would be its end
                if start < 0 or last + 1 != end or text[start:end] != surface:
                    raise span.error(f"{surface!r} does not stand at {start} to {last} of the text")
                found.append(Entity(name, start, last + 1))
    return tuple(sorted(found, key=lambda entity: (entity.start, entity.end, entity.type)))


def _names(node: Node) -> list[str]:
    if not isinstance(node.value, dict):
        raise node.error(f"{node.name} should be an object, found {node.value!r}")
    return list(node.value)


def _pair(span: Node) -> tuple[int, int]:
    ends = span.items()
    if len(ends) != 2:
        raise span.error(f"[first, last] should stand here, found {span.value!r}")
    return ends[0].integer(), ends[1].integer()


@dataclass(frozen=True)
class Tagging:
    """The family of named entities.

    Attributes:
        types: of entities, in the order of the tags.
        rows_of: the rows of a file: objects with a `text`.
        entities_of: the entities of a labelled row.
    """

    types: tuple[str, ...]
    rows_of: Callable[[Path], Iterable[Node]] = read_json_lines
    entities_of: Callable[[Node], tuple[Entity, ...]] = cluener_entities

    head: ClassVar[str] = "tagging"
    metric: ClassVar[str] = "macro F1"
    baseline_name: ClassVar[str] = "no entity"

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The classes of a token: O, then B- and I- (begin, inside) and S- (single) of each type.

        >>> Tagging(("name",)).tags
        ('O', 'B-name', 'I-name', 'S-name')
        """
        return (OUTSIDE, *(f"{sign}-{name}" for name in self.types for sign in "BIS"))

    def read(self, paths: Sequence[Path], has_labels: bool) -> list[TaggingExample]:
        """Gives every row of some files as an example, in their order.

        Args:
            paths: read one after the other.
            has_labels: False for a test file.

        Raises:
            ValueError: with path and line, for what cannot be read.
        """
        examples: list[TaggingExample] = []
        ids = Ids()
        for path in paths:
            for row in self.rows_of(path):
                id_ = row.field("id").identifier() if "id" in row else len(examples)
                ids.add(row, id_)
                entities = self._entities(row) if has_labels else None
                examples.append(TaggingExample(id_, row.field("text").text(), entities))
        return examples

    def _entities(self, row: Node) -> tuple[Entity, ...]:
        entities = self.entities_of(row)
        for entity in entities:
            if entity.type not in self.types:
                raise row.error(f"type {entity.type!r} is none of {', '.join(self.types)}")
        return entities

    def encode(
        self, examples: Iterable[TaggingExample], tokenizer: TextTokenizer, settings: TextSettings
    ) -> Iterator[TaggingFeature]:
        """Yields [CLS] text [SEP] with a tag for every token, in windows where it is too long.

        Nothing is cut, unlike in the baselines. An entity that begins or ends inside of a token is
        taught as the whole token: 0.2 % of CLUENER's with WordPieces, none with characters.
        """
        for place, example, (line,) in tokenized(
            examples, lambda example: example.texts, tokenizer, settings
        ):
            tags, lost = self._tags(example, line)
            borders = window_borders(len(line.ids), settings.max_length - 2, settings.stride)
            window_of = max_context_windows(len(line.ids), borders)
            for window, (first, last) in enumerate(borders):
                sequence = join(tokenizer.vocabulary, [Segment(0, line.cut(first, last), 0)])
                here = np.full(len(sequence.input_ids), NO_LABEL, dtype=np.int32)
                here[1:-1] = tags[first:last]
                is_max_context = np.zeros(len(sequence.input_ids), dtype=bool)
                is_max_context[1:-1] = window_of[first:last] == window
                cut = Cut(len(line.ids), 0) if window == 0 else Cut(0, 0)
                yield TaggingFeature(
                    place, window, sequence, here, is_max_context, 0 if window else lost, cut
                )

    def _tags(self, example: TaggingExample, line: Tokens) -> tuple[np.ndarray, int]:
        """Gives the tag of every token, int32 [n], and how many entities they cannot hold."""
        if example.entities is None:
            return np.full(len(line.ids), NO_LABEL, dtype=np.int32), 0
        tags = np.zeros(len(line.ids), dtype=np.int32)
        lost = 0
        for entity in sorted(example.entities, key=lambda e: (e.start - e.end, e.start)):
            first = int(np.searchsorted(line.spans[:, 1], entity.start, side="right"))
            last = int(np.searchsorted(line.spans[:, 0], entity.end, side="left")) - 1
            if first > last or tags[first : last + 1].any():
                lost += 1
                continue
            begin = 1 + 3 * self.types.index(entity.type)
            tags[first : last + 1] = begin + 1
            tags[first] = begin if first < last else begin + 2
        return tags, lost

    def decode(
        self,
        examples: Sequence[TaggingExample],
        features: Sequence[TaggingFeature],
        outputs: Sequence[np.ndarray],
        settings: TextSettings,
    ) -> list[tuple[Entity, ...]]:
        """Gives the entities of every text.

        Args:
            examples: all that were encoded.
            features: of the examples.
            outputs: int [n] for each feature, the tag of every token; those of [CLS] and [SEP] are
                not looked at.
            settings: as they were encoded.

        Raises:
            ValueError: an example has no feature, or a feature no output.
        """
        check_count(len(features), len(outputs))
        tags: list[list[int]] = [[] for _ in examples]
        spans: list[list[tuple[int, int]]] = [[] for _ in examples]
        is_seen = np.zeros(len(examples), dtype=bool)
        # Of the windows of a text each token is taken once, and they come in order.
        for feature, found in zip(features, outputs, strict=True):
            is_seen[feature.example] = True
            chosen = np.flatnonzero(feature.is_max_context)
            tags[feature.example] += np.asarray(found)[chosen].tolist()
            spans[feature.example] += map(tuple, feature.sequence.spans[chosen].tolist())
        if not is_seen.all():
            raise ValueError(f"features of {int(is_seen.sum())} of {len(examples)} examples")
        return [self._found(tags[place], spans[place]) for place in range(len(examples))]

    def _found(self, tags: list[int], spans: list[tuple[int, int]]) -> tuple[Entity, ...]:
        names = [self.tags[tag] for tag in tags]
        return tuple(
            Entity(name, spans[first][0], spans[last][1])
            for name, first, last in entities_of_tags(names)
        )

    def score(
        self, examples: Sequence[TaggingExample], predictions: Sequence[Sequence[Entity]]
    ) -> Score:
        """Gives CLUENER's macro F1 over strings, beside the micro F1 over spans."""
        check_count(len(examples), len(predictions))
        pairs = [
            (example, found)
            for example, found in zip(examples, predictions, strict=True)
            if example.entities is not None
        ]
        scores = entity_scores(
            self.types,
            [example.text for example, _ in pairs],
            [example.entities or () for example, _ in pairs],
            [found for _, found in pairs],
        )
        value = scores.pop("macro F1")
        return Score("macro F1", value, scores, len(pairs), len(examples) - len(pairs))

    def baseline(
        self, train: Sequence[TaggingExample], examples: Sequence[TaggingExample]
    ) -> list[tuple[Entity, ...]]:
        """Predicts O for every token."""
        return [()] * len(examples)

    def notes(self, examples: Sequence[TaggingExample]) -> tuple[str, ...]:
        """Gives what a reader should know about the examples."""
        return ()

    def answer(self, example: TaggingExample, prediction: Sequence[Entity]) -> dict:
        """Gives a prediction as it is written into a submission."""
        label: dict[str, dict[str, list[list[int]]]] = {}
        for entity in prediction:
            surfaces = label.setdefault(entity.type, {})
            surface = example.text[entity.start : entity.end]
            surfaces.setdefault(surface, []).append([entity.start, entity.end - 1])
        return label

    def answer_defect(self, answer: Any, example: TaggingExample | None = None) -> str | None:
        """Says what is wrong with an answer of a submission; None where nothing is."""
        if not isinstance(answer, dict):
            return "is no object of types"
        for name, surfaces in answer.items():
            if name not in self.types:
                return f"has the type {name!r}, which is none of {', '.join(self.types)}"
            if not isinstance(surfaces, dict):
                return f"has no object of strings for {name}"
            for surface, spans in surfaces.items():
                defect = _spans_defect(surface, spans, example)
                if defect:
                    return defect
        return None


def _spans_defect(surface: str, spans: Any, example: TaggingExample | None) -> str | None:
    is_list = isinstance(spans, list) and spans and all(_is_pair(span) for span in spans)
    if not is_list:
        return f"has no [[first, last], …] for {surface!r}"
    for start, last in spans:
        if last - start + 1 != len(surface):
            return f"gives {surface!r} the characters {start} to {last}; the last one counts"
        if example is not None and example.text[start : last + 1] != surface:
            return f"has {surface!r} where the text has {example.text[start : last + 1]!r}"
    return None


def _is_pair(span: Any) -> bool:
    return (
        isinstance(span, list) and len(span) == 2 and all(type(e) is int and e >= 0 for e in span)
    )


def entities_of_tags(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Gives (type, first, last) for every entity in BIOS tags, `last` inclusive.

    As the baseline reads them: B- without an I- of its type behind it is none, and so is an I-
    without a B-. There, an I- of another type within an entity is passed over; here it ends it.

    Source: CLUEbenchmark/CLUENER2020 at 2e8fccd1, the PyTorch baseline.

    >>> entities_of_tags(["B-name", "I-name", "O", "S-book", "B-name", "O", "I-name"])
    [('name', 0, 1), ('book', 3, 3)]
    """
    found: list[tuple[str, int, int]] = []
    name, first = "", -1
    for place, tag in enumerate([*tags, OUTSIDE]):
        sign, _, type_ = tag.partition("-")
        if first >= 0 and not (sign == "I" and type_ == name):
            if place - first > 1:
                found.append((name, first, place - 1))
            first = -1
        if sign == "S":
            found.append((type_, place, place))
        elif sign == "B":
            name, first = type_, place
    return found
