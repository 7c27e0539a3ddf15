"""From a name, or a YAML, to a task and the folder of its files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from chinese.clue.encoding import TextSettings
from chinese.clue.own_tasks import check_files, find_labels, own_task
from chinese.clue.table import TASKS, find_task
from chinese.clue.tasks import Task, find_files, find_folder
from electra_tf.config import OwnTaskConfig, load_config

_YAML = (".yaml", ".yml")


class TaskFolder(NamedTuple):
    """A task, and where its files lie."""

    task: Task
    folder: Path


def load_task(name: str, data: str | Path | None) -> TaskFolder:
    """Gives a task of the table, or one's own.

    Args:
      name: of the table, or the path of a YAML that describes one's own.
      data: a folder of data, or that of the task itself; a YAML brings its own.

    Raises:
      ValueError: no such task, no files of it, or a YAML that does not fit.
    """
    if Path(name).suffix in _YAML:
        return _own_task(Path(name))
    task = find_task(name)
    if data is None:
        raise ValueError(f"{name}: say with --data where its files are")
    folder = find_folder(task, data)
    if folder is None and any(find_files(task, data, split) for split in task.files):
        folder = Path(data)
    if folder is None:
        raise ValueError(
            f"{name}: {data} holds no files of it; they may lie in {', '.join(task.folders)} there"
        )
    return TaskFolder(task, folder)


def present_tasks(data: str | Path) -> tuple[list[TaskFolder], list[Task]]:
    """Gives the tasks of the table with files in a folder of data, and those without."""
    found, absent = [], []
    for task in TASKS.values():
        folder = find_folder(task, data)
        if folder is None:
            absent.append(task)
        else:
            found.append(TaskFolder(task, folder))
    return found, absent


def _own_task(path: Path) -> TaskFolder:
    config = load_config(OwnTaskConfig, path)
    labels = config.labels
    if labels is None and config.kind == "tagging":
        raise ValueError(f"{path}: labels is missing; name the types of entities")
    try:
        if labels is None and config.kind != "span":
            labels = find_labels(path.parent, config.files, config.text, config.label)
        task = own_task(
            config.name,
            config.kind,
            config.files,
            config.text,
            config.label,
            labels or (),
            _settings(config),
            config.null_threshold,
        )
        check_files(task, path.parent)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return TaskFolder(task, path.parent)


def _settings(config: OwnTaskConfig) -> TextSettings:
    length = config.max_length or (512 if config.kind == "span" else 128)
    # A quarter of the length, as the published baselines: 128 of 512.
    return TextSettings(length, long_text=config.long_text, stride=length // 4)


def describe_tasks() -> list[tuple[str, str, str, int, str]]:
    """Gives name, title, head, length in tokens and metric of every task of the table."""
    return [
        (t.name, t.title, t.family.head, t.settings.max_length, t.family.metric)
        for t in TASKS.values()
    ]


def find_data(data: str | Path) -> list[tuple[str, str, str]]:
    """Gives, for every task of the table, its name, its folder in `data` and the splits there.

    Raises:
      ValueError: no such folder.
    """
    if not Path(data).is_dir():
        raise ValueError(f"{data}: no such folder of data")
    found, absent = present_tasks(data)
    rows = [(task.name, str(folder), _splits(task, folder)) for task, folder in found]
    return [*rows, *((task.name, "absent", "") for task in absent)]


def _splits(task: Task, folder: Path) -> str:
    present = [split for split in task.files if find_files(task, folder, split)]
    if len(task.rounds) == 1:
        return ", ".join(present)
    rounds = [r.name for r in task.rounds if {r.train, r.dev} <= {*present}]
    of_rounds = {split for r in task.rounds for split in (r.train, r.dev)}
    return ", ".join(
        [f"rounds {' '.join(rounds)}", *(split for split in present if split not in of_rounds)]
    )
