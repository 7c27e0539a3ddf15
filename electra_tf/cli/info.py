"""`electra-tf info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import show_table


def info(
    path: Annotated[
        Path, typer.Argument(help="A run, records, a vocabulary, a model of any format.")
    ],
) -> None:
    """Tell what a path is and what it holds.

    Examples:

      electra-tf info runs/demo

      electra-tf info runs/demo/encoder

      electra-tf info downloads/chinese_electra_small
    """
    from electra_tf.workflows.info import describe

    show_table(str(path), describe(path))
