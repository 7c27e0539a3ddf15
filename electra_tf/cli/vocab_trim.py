"""`electra-tf vocab trim`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import show_table


def trim(
    model: Annotated[Path, typer.Argument(help="A run, encoder folder or model of any format.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")],
    drop: Annotated[
        Path | None,
        typer.Option(
            "--drop",
            help="A file of tokens to take out, one a line. Default: ## pieces with a Han "
            "character, which no text can give.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an encoder folder that stands there.")
    ] = False,
) -> None:
    """Take tokens out of the vocabulary of a model, its generator included.

    The tokens that stay move up. Every text that holds none of those that
    go gives the same numbers as before.

    Example:

      electra-tf vocab trim chinese-electra-base --out trimmed
    """
    from electra_tf.workflows.change_vocabulary import read_tokens, trim_model

    done = trim_model(model, read_tokens(drop) if drop else None, out, force)
    show_table(
        str(done.out),
        {
            "networks": ", ".join(done.networks),
            "tokens": f"{done.old_size:,} → {done.new_size:,}",
            "taken out": f"{done.removed:,}",
            "ids, old → new": "vocabulary_ids.json",
        },
    )
