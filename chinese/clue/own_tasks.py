"""Tasks of one's own: a single text, a pair, entities, spans, described by a few names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from chinese.clue.classification import NO_MAJORITY, Classification, fields
from chinese.clue.conll import read_conll
from chinese.clue.encoding import TextSettings
from chinese.clue.examples import Entity
from chinese.clue.files import Node, read_json_lines, read_table
from chinese.clue.reading import SQUAD_NAMES, FieldNames, Reading, squad_questions
from chinese.clue.tagging import Tagging, cluener_entities
from chinese.clue.tasks import Family, Task, find_files

Kind = Literal["single", "pair", "tagging", "span"]

_TABLES = (".tsv", ".csv")
_CONLL = (".txt", ".bio", ".conll")
_NUM_TEXTS = {"single": 1, "pair": 2, "tagging": 1, "span": 2}


def own_task(
    name: str,
    kind: Kind,
    files: Mapping[str, str],
    texts: Sequence[str],
    label: str,
    labels: Sequence[str],
    settings: TextSettings,
    null_threshold: float | None = None,
) -> Task:
    """Gives a task like those of the table.

    Args:
        name: of the task, and of the file of its predictions.
        kind: what is predicted: a label of a text or of a pair, entities, a span.
        files: split → a file relative to the folder the task is read from; `train` and `dev` have
            labels, `test` has none.
        texts: names of the fields or columns of text: one, or two for a pair; context and question
            for spans.
        label: of the field or column of the label, the entities or the answer.
        labels: the classes, or the types of entities; () for spans.
        settings: lengths.
        null_threshold: of spans, see `Reading`.

    Raises:
        ValueError: something that does not fit the kind.
    """
    if len(texts) != _NUM_TEXTS[kind]:
        raise ValueError(
            f"{name}: kind {kind} has {_NUM_TEXTS[kind]} fields of text, found {list(texts)}"
        )
    if (kind == "span") != (not labels):
        raise ValueError(f"{name}: kind {kind} has {'no ' * (kind == 'span')}labels")
    if len(set(labels)) != len(labels):
        raise ValueError(f"{name}: a label stands twice in {list(labels)}")
    return Task(
        name,
        f"{kind}, one's own",
        "own",
        _family(kind, texts, label, tuple(labels), null_threshold),
        (".",),
        {split: ((file,),) for split, file in files.items()},
        settings,
        frozenset({"test"}),
        submissions={split: f"{name}_{split}_predict" for split in files},
        form="object" if kind == "span" else "lines",
    )


def _family(
    kind: Kind,
    texts: Sequence[str],
    label: str,
    labels: tuple[str, ...],
    null_threshold: float | None,
) -> Family:
    if kind == "tagging":
        return Tagging(labels, _tagging_rows(texts[0], label), _entities)
    if kind == "span":
        return Reading(_span_questions(*texts, label), True, null_threshold)
    return Classification(labels, fields(*texts), _rows(texts, label), label)


def find_labels(
    folder: Path | str, files: Mapping[str, str], texts: Sequence[str], label: str
) -> tuple[str, ...]:
    """Gives the labels of the training file, sorted, for a task that does not name them.

    Raises:
        ValueError: no training file, or one that cannot be read.
    """
    if "train" not in files:
        raise ValueError(f"{folder}: no training file to learn the labels from; name them")
    rows = _rows(texts, label)(Path(folder) / files["train"])
    return tuple(sorted({str(row.field(label).value) for row in rows} - {NO_MAJORITY}))


def check_files(task: Task, folder: Path | str) -> None:
    """Refuses a task whose files are not there, before anything is trained.

    Raises:
        ValueError: names the first that is missing.
    """
    for split, ((file,),) in task.files.items():
        if not find_files(task, folder, split):
            raise ValueError(f"{task.name}, {split}: no file {Path(folder) / file}")


def _rows(texts: Sequence[str], label: str) -> Callable[[Path], Iterator[Node]]:
    def rows(path: Path) -> Iterator[Node]:
        if path.suffix in _TABLES:
            return read_table(path, (*texts, label), tuple(texts))
        return read_json_lines(path)

    return rows


def _tagging_rows(text: str, label: str) -> Callable[[Path], Iterator[Node]]:
    def rows(path: Path) -> Iterator[Node]:
        if path.suffix in _CONLL:
            yield from read_conll(path)
            return
        for row in read_json_lines(path):
            value = {"text": row.field(text).value}
            value |= {"label": row.value[label]} if label in row else {}
            value |= {"id": row.value["id"]} if "id" in row else {}
            yield Node(value, row.source)

    return rows


def _entities(row: Node) -> tuple[Entity, ...]:
    """Reads {type: {string: [[first, last]]}}, or [{"type", "start", "end"}], end exclusive."""
    label = row.field("label")
    if isinstance(label.value, dict):
        return cluener_entities(row)
    size = len(row.field("text").text())
    found = []
    for node in label.items():
        start, end = node.field("start").integer(), node.field("end").integer()
        if not 0 <= start < end <= size:
            raise node.error(f"characters {start} to {end} of a text of {size}")
        found.append(Entity(node.field("type").text(), start, end))
    return tuple(sorted(found, key=lambda entity: (entity.start, entity.end, entity.type)))


def _span_questions(
    context: str, question: str, answer: str
) -> Callable[[Path], Iterator[tuple[str, Node, FieldNames]]]:
    def questions(path: Path) -> Iterator[tuple[str, Node, FieldNames]]:
        if path.suffix == ".json":
            yield from squad_questions(path)
            return
        for place, row in enumerate(read_json_lines(path)):
            text = row.field(context).text()
            value = {"id": row.value.get("id", place), "question": row.field(question).value}
            if answer in row:
                value |= _answers(row, answer)
            yield text, Node(value, row.source), SQUAD_NAMES

    return questions


def _answers(row: Node, name: str) -> dict:
    """Gives the answers as SQuAD has them; null, or no answers, where there is none."""
    found = row.value[name]
    answers = found if isinstance(found, list) else [found]
    if found is None or not answers:
        return {"is_impossible": True}
    start = row.value.get("answer_start", -1)
    return {
        "answers": [
            {"text": answer, "answer_start": start} if isinstance(answer, str) else answer
            for answer in answers
        ]
    }
