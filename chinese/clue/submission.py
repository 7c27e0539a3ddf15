"""Predictions as the boards want them: a file a task, and the zip."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from chinese.clue.examples import Example
from chinese.clue.metrics import check_count
from chinese.clue.tasks import Task

# The same bytes for the same predictions, whenever they are packed.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def submission_name(task: Task, split: str, round_name: str = "") -> str:
    """Gives the name of the file a board expects.

    Args:
        task: of the table.
        split: of which predictions are sent in.
        round_name: of FewCLUE's track with several training sets: `0` to `4`, `all`.

    Raises:
        ValueError: there is no board for this split.

    >>> from chinese.clue.table import find_task
    >>> submission_name(find_task("tnews"), "test")
    'tnews11_predict.json'
    >>> submission_name(find_task("bustm"), "test", "all")
    'bustm_predict_all.json'
    """
    if split not in task.submissions:
        known = ", ".join(task.submissions) or "none"
        raise ValueError(f"{task.name}: no board takes predictions for {split}; splits: {known}")
    suffix = f"_{round_name}" if round_name else ""
    return f"{task.submissions[split]}{suffix}.json"


def submission_text(task: Task, examples: Sequence[Example], predictions: Sequence[Any]) -> str:
    """Gives the content of a file of predictions, one an example, in the order of the test file.

    Raises:
        ValueError: another number of predictions than of examples.
    """
    check_count(len(examples), len(predictions))
    answers = [
        (example.id, task.family.answer(example, prediction))
        for example, prediction in zip(examples, predictions, strict=True)
    ]
    if task.form == "object":
        return json.dumps(dict(answers), ensure_ascii=False, indent=1) + "\n"
    lines = ({"id": id_, task.answer_key: answer} for id_, answer in answers)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def write_predictions(
    folder: Path | str,
    task: Task,
    split: str,
    examples: Sequence[Example],
    predictions: Sequence[Any],
    round_name: str = "",
) -> Path:
    """Writes the file a board expects, whole or not at all; one of that name is replaced.

    Args:
        folder: where to.
        task: of the table.
        split: the predictions are of.
        examples: all of the split.
        predictions: one an example.
        round_name: see `submission_name`.

    Returns:
        The file.

    Raises:
        ValueError: no board for this split, or predictions that are missing.
    """
    text = submission_text(task, examples, predictions)
    path = Path(folder) / submission_name(task, split, round_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(text.encode("utf-8"))
    unfinished.replace(path)
    return path


def write_zip(path: Path | str, files: Iterable[Path]) -> Path:
    """Packs files of predictions flat, whole or not at all.

    Args:
        path: `submit_<team>_<date>.zip` by custom.
        files: of predictions.

    Returns:
        The zip.

    Raises:
        ValueError: something is there already; no files; two of one name.
    """
    path, files = Path(path), sorted(files, key=lambda file: file.name)
    if path.exists():
        raise ValueError(f"{path} exists; give another name, or move it away")
    names = [file.name for file in files]
    if not names:
        raise ValueError(f"{path}: no predictions to pack")
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: two files of one name among {', '.join(names)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, _ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.read_bytes())
    unfinished.replace(path)
    return path
