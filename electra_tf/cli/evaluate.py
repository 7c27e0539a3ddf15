"""`electra-tf evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import show_table


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    records: Annotated[
        Path | None,
        typer.Option("--records", help="Records to evaluate on. Default: those of the run."),
    ] = None,
) -> None:
    """Evaluate the newest checkpoint of a run on held-out text.

    Example:

      electra-tf evaluate runs/demo
    """
    from electra_tf.workflows.pretrain import evaluate_run

    step, metrics = evaluate_run(run, records)
    show_table(
        f"{run}, step {step:,}, held-out text",
        {name: f"{value:.4f}" for name, value in metrics.items()},
    )
