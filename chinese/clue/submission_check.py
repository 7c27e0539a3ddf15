"""Holds a zip of predictions against the form the boards want, and names each defect."""

from __future__ import annotations

import difflib
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from chinese.clue.examples import Example, Id
from chinese.clue.submission import submission_name
from chinese.clue.table import TASKS
from chinese.clue.tasks import Task, find_files, find_folder, read_split

_SHOWN_DEFECTS = 5
_MAX_BYTES = 1 << 28  # of one file unpacked; the largest real one has about a megabyte
_LEFT_OUT = ("__MACOSX/", ".DS_Store")


class CheckedFile(NamedTuple):
    """What was found in one file of a zip.

    Fields:
      name: of the file.
      task, split: whose predictions these are; None where the name says nothing.
      num_answers: answers in it.
      defects: one line each; () where it is as the board wants it.
      is_compared: whether the test file was at hand, so that ids and order could be looked at.
    """

    name: str
    task: str | None
    split: str | None
    num_answers: int
    defects: tuple[str, ...]
    is_compared: bool


class _Form(NamedTuple):
    """Whose predictions a file holds."""

    task: Task
    split: str


def _forms() -> dict[str, _Form]:
    forms = {}
    for task in TASKS.values():
        for split in task.submissions:
            names = ["", *(r.name for r in task.rounds if len(task.rounds) > 1)]
            for name in names:
                forms[submission_name(task, split, name)] = _Form(task, split)
    # The track of those who trained on fewer rows; the test file is the same.
    forms["ocnli_30k_predict.json"] = _Form(TASKS["ocnli"], "test")
    return forms


def check_submission(path: Path | str, data: Path | str | None) -> list[CheckedFile]:
    """Looks at every file of a zip.

    Args:
        path: the zip.
        data: a folder of data with the test files; without it, or without a task's file in it, ids
            and order cannot be compared, and only what the form itself tells is looked at.

    Returns:
        What was found, in the order of the zip.

    Raises:
        ValueError: no such file, no zip, or a test file that cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not _is_left_out(entry)]
            counts = Counter(PurePosixPath(entry.filename).name for entry in entries)
            return [_check_entry(archive, entry, counts, data) for entry in entries] or [
                CheckedFile(path.name, None, None, 0, ("the zip is empty",), False)
            ]
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: no zip, or a damaged one ({error})") from None


def _is_left_out(entry: zipfile.ZipInfo) -> bool:
    return entry.is_dir() or any(mark in entry.filename for mark in _LEFT_OUT)


def _check_entry(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    counts: Mapping[str, int],
    data: Path | str | None,
) -> CheckedFile:
    name = PurePosixPath(entry.filename).name
    defects = []
    if name != entry.filename:
        defects.append(f"lies in a folder, {entry.filename}; files stand flat in the zip")
    if counts[name] > 1:
        defects.append(f"stands {counts[name]} times in the zip")
    form = _forms().get(name)
    if form is None:
        return CheckedFile(name, None, None, 0, (*defects, _name_defect(name)), False)
    task, split = form
    if entry.file_size > _MAX_BYTES:
        defects.append(f"{entry.file_size:,} bytes; no real file is that large")
        return CheckedFile(name, task.name, split, 0, tuple(defects), False)
    examples = _test_examples(task, split, data)
    try:
        text = archive.read(entry).decode("utf-8")
    except UnicodeDecodeError as error:
        defects.append(f"not UTF-8 (byte {error.start})")
        return CheckedFile(name, task.name, split, 0, tuple(defects), False)
    answers, broken = _answers(task, text)
    defects += broken
    if not broken:
        defects += _compare(form, answers, examples)
    return CheckedFile(name, task.name, split, len(answers), tuple(defects), examples is not None)


def _name_defect(name: str) -> str:
    known = list(_forms())
    stem = name.lower().partition("_")[0]
    near = sorted(  # stable: CLUE's stand before FewCLUE's
        (form for form in known if len(stem) > 1 and stem in form),
        key=lambda form: not form.startswith(stem),
    ) or difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    proposed = f"did you mean {near[0]}?" if near else "it should be like tnews11_predict.json"
    return f"no board knows a file of this name; {proposed}"


def _test_examples(task: Task, split: str, data: Path | str | None) -> list[Example] | None:
    folder = find_folder(task, data) if data is not None else None
    if folder is None or not find_files(task, folder, split):
        return None
    return read_split(task, folder, split).examples


class _Answer(NamedTuple):
    place: str  # "line 3", or "key TEST_0_QUERY_0"
    id: Id
    value: Any


def _answers(task: Task, text: str) -> tuple[list[_Answer], list[str]]:
    """Gives the answers of a file, and what keeps one from reading them."""
    if text.startswith("\ufeff"):
        return [], ["begins with a byte-order mark; the board's reader stumbles over it"]
    if not text.strip():
        return [], ["is empty"]
    if task.form == "object":
        return _answers_of_object(text)
    answers, defects = [], []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        try:
            answers.append(_answer_of_line(task, number, line))
        except ValueError as error:
            defects.append(f"line {number}: {error}")
    return answers, _shortened(defects)


def _answers_of_object(text: str) -> tuple[list[_Answer], list[str]]:
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.extend(key for key, count in Counter(k for k, _ in items).items() if count > 1)
        return dict(items)

    try:
        tree = json.loads(text, object_pairs_hook=pairs)
    except (json.JSONDecodeError, RecursionError) as error:
        return [], [f"broken JSON ({error}); the file is one object of all answers"]
    if not isinstance(tree, dict):
        return [], ["is no object of all answers, {id: answer}"]
    if repeated:
        return [], _shortened([f"key {key} stands there twice" for key in repeated])
    return [_Answer(f"key {key}", key, value) for key, value in tree.items()], []


def _answer_of_line(task: Task, number: int, line: str) -> _Answer:
    if not line.strip():
        raise ValueError("blank; answers are compared line by line")
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"broken JSON ({error})") from None
    if not isinstance(row, dict):
        raise ValueError("no JSON object")
    missing = [name for name in ("id", task.answer_key) if name not in row]
    if missing:
        raise ValueError(f"no {' and no '.join(missing)}; found {', '.join(row) or 'nothing'}")
    if type(row["id"]) is not int and not isinstance(row["id"], str):
        raise ValueError(f"id {row['id']!r} is neither a number nor text")
    return _Answer(f"line {number}", row["id"], row[task.answer_key])


def _compare(
    form: _Form, answers: Sequence[_Answer], examples: Sequence[Example] | None
) -> list[str]:
    """Names what is wrong with answers that could be read."""
    task = form.task
    expected = len(examples) if examples is not None else task.sizes.get(form.split)
    defects = []
    if expected is not None and len(answers) != expected:
        defects.append(f"{len(answers):,} answers; the test file has {expected:,}")
    defects += _id_defects(task, answers, examples)
    known = {_key(example.id): example for example in examples or ()}
    wrong = []
    for answer in answers:
        defect = task.family.answer_defect(answer.value, known.get(_key(answer.id)))
        if defect:
            shown = json.dumps(answer.value, ensure_ascii=False)[:60]
            wrong.append(f"{answer.place}: {task.answer_key} {shown} {defect}")
    return [*defects, *_shortened(wrong)]


def _id_defects(
    task: Task, answers: Sequence[_Answer], examples: Sequence[Example] | None
) -> list[str]:
    counts = Counter(_key(answer.id) for answer in answers)
    repeated = [f"id {key} stands there {n} times" for key, n in counts.items() if n > 1]
    if examples is None:
        return _shortened([*repeated, *_strange_keys(task, answers)])
    wanted = [_key(example.id) for example in examples]
    missing = [f"id {key} of the test file has no answer" for key in wanted if key not in counts]
    expected = set(wanted)
    unknown = [
        f"{answer.place}: id {answer.id} is not in the test file"
        for answer in answers
        if _key(answer.id) not in expected
    ]
    defects = [*_shortened(repeated), *_shortened(missing), *_shortened(unknown)]
    if not defects and task.form == "lines":
        defects += _order_defect(answers, wanted)
    return defects


def _order_defect(answers: Sequence[_Answer], wanted: Sequence[str]) -> Iterator[str]:
    for answer, key in zip(answers, wanted, strict=True):
        if _key(answer.id) != key:
            yield (
                f"{answer.place}: id {answer.id} stands where the test file has {key}; "
                "answers are compared line by line, in its order"
            )
            return


def _strange_keys(task: Task, answers: Sequence[_Answer]) -> list[str]:
    if task.id_pattern is None:
        return []
    return [
        f"{answer.place} is not of the form {task.id_pattern}"
        for answer in answers
        if not re.fullmatch(task.id_pattern, str(answer.id))
    ]


def _key(id_: Id) -> str:
    """An id as text: FewCLUE's TNEWS has strings in the test file, and numbers in the sample."""
    return str(id_)


def _shortened(defects: list[str]) -> list[str]:
    if len(defects) <= _SHOWN_DEFECTS:
        return defects
    return [*defects[:_SHOWN_DEFECTS], f"and {len(defects) - _SHOWN_DEFECTS:,} more of this kind"]
