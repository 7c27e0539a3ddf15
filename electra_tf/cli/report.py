"""`electra-tf report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import console


def report(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    records: Annotated[
        Path | None,
        typer.Option("--records", help="The run's records, where they stand elsewhere."),
    ] = None,
) -> None:
    """Write report.html of a run anew, also while it goes on.

    Example:

      electra-tf report runs/demo
    """
    from electra_tf.workflows.run_report import write_run_report

    console.print(str(write_run_report(run, records)), markup=False)
