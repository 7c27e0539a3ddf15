"""Writes the tables of docs/clue.md from the table of tasks; a test holds the two together.

python scripts/write_task_tables.py
"""

from __future__ import annotations

import re
from pathlib import Path

from chinese.clue.published import published_scores
from chinese.clue.table import TASKS
from chinese.clue.tasks import Task

PAGE = Path(__file__).resolve().parents[1] / "docs" / "clue.md"


def page() -> str:
    """The page with its tables written anew."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in {"tasks": _tasks(), "files": _files(), "scores": _scores()}.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = pattern.subn(
            lambda match, table=table: f"{match[1]}{table}\n{match[2]}", text
        )
        assert count == 1, f"{PAGE} should hold one table of {name}"
    return text


def _table(header: str, rows: list[tuple[str, ...]]) -> str:
    names = header.split(" | ")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _tasks() -> str:
    rows = []
    for task in TASKS.values():
        classes = str(len(task.labels)) if task.labels else "–"
        predictions = ", ".join(f"`{name}.json`" for name in task.submissions.values()) or "–"
        rows.append(
            (
                f"`{task.name}`",
                task.title,
                task.family.head,
                classes,
                str(task.settings.max_length),
                task.family.metric,
                predictions,
            )
        )
    return _table("task | what | head | classes | tokens | metric | predictions", rows)


def _files() -> str:
    rows = []
    for task in TASKS.values():
        splits = [f"{split}: {_ways(task, split)}" for split in task.files]
        if len(task.rounds) > 1:
            splits = ["train_0 to 4, train_few_all, dev_0 to 4, dev_few_all, test_public, test"]
        folders = ", ".join(f"`{folder}`" for folder in task.folders if "_public" not in folder)
        rows.append((f"`{task.name}`", folders, "; ".join(splits)))
    return _table("task | folder, one of | files: the first that is there", rows)


def _ways(task: Task, split: str) -> str:
    return ", ".join(" + ".join(f"`{name}`" for name in names) for names in task.files[split])


def _scores() -> str:
    rows = []
    for task in TASKS.values():
        for split in task.files:
            cells = []
            for row in published_scores(task.name, split):
                f1 = f"/{row.f1:g}" if row.f1 is not None else ""
                cells.append(f"{row.model} {row.value:g}{f1}")
            if cells:
                rows.append((f"`{task.name}`", split, ", ".join(cells)))
    return _table("task | split | model and score", rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
