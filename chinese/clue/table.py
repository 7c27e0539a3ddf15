"""The table of tasks: CLUE, FewCLUE, and those of the Chinese-ELECTRA papers."""

from __future__ import annotations

from collections.abc import Mapping

from chinese.clue.clue_tasks import CLUE_TASKS
from chinese.clue.fewclue_tasks import FEWCLUE_TASKS
from chinese.clue.hfl_tasks import HFL_TASKS
from chinese.clue.tasks import Task, nearest_names

TASKS: Mapping[str, Task] = {task.name: task for task in (*CLUE_TASKS, *FEWCLUE_TASKS, *HFL_TASKS)}
"""All tasks by name."""

CLUE_1_1 = ("afqmc", "tnews", "iflytek", "ocnli", "cluewsc", "csl", "cmrc2018", "chid", "c3")
"""The nine tasks of the board of CLUE 1.1; its score is their plain mean."""


def find_task(name: str) -> Task:
    """Gives a task by its name.

    Raises:
        ValueError: there is none; the nearest name is proposed.
    """
    if name not in TASKS:
        raise ValueError(f"no task {name!r}; {nearest_names(name, TASKS)}")
    return TASKS[name]
