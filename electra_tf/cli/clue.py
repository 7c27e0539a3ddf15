"""`electra-tf clue`: tasks, and what one sends in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import console, show_columns

app = typer.Typer(help="CLUE's tasks and submissions.", no_args_is_help=True)


@app.callback()
def clue() -> None:
    """CLUE's tasks and submissions."""


@app.command()
def check(
    archive: Annotated[Path, typer.Argument(metavar="ZIP", help="What one would upload.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the tasks; their test files tell ids and order."),
    ] = None,
) -> None:
    """Hold a zip of predictions against the form the boards want.

    Names, order, label strings, ids, counts. Any defect is named and
    gives exit code 1.

    Example:

      electra-tf clue check submit_team_2026.zip --data clue/
    """
    from electra_tf.workflows.clue_check import check_zip

    found = check_zip(archive, data)
    show_columns(
        str(archive),
        ("file", "task", "answers", "compared with", ""),
        [
            (
                file.name,
                file.task or "–",
                file.num_answers,
                f"{file.split} file" if file.is_compared else "the form alone",
                "defect" if file.defects else "sound",
            )
            for file in found.files
        ],
    )
    if found.absent:
        console.print(f"without predictions: {', '.join(found.absent)} (CLUE 1.1)", markup=False)
    if found.defects:
        count = len(found.defects)
        lines = "\n".join(f"  {line}" for line in found.defects)
        raise ValueError(f"{archive}: {count} defect{'s' if count > 1 else ''}:\n{lines}")


@app.command()
def tasks(
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the tasks: tell which are there.")
    ] = None,
) -> None:
    """List the tasks; with --data, which of their files are there.

    Examples:

      electra-tf clue tasks

      electra-tf clue tasks --data clue/
    """
    from electra_tf.workflows.tasks import describe_tasks, find_data

    if data is None:
        header: tuple[str, ...] = ("task", "what", "head", "tokens", "metric")
        show_columns("Tasks", header, describe_tasks())
    else:
        show_columns(f"Tasks in {data}", ("task", "folder", "splits"), find_data(data))
