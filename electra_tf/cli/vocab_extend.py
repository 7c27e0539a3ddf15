"""`electra-tf vocab extend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import show_table


def extend(
    model: Annotated[Path, typer.Argument(help="A run, encoder folder or model of any format.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")],
    token: Annotated[
        list[str] | None, typer.Option("--token", help="A token to add. Several may follow.")
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option("--tokens", help="A file of tokens to add, one a line.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an encoder folder that stands there.")
    ] = False,
) -> None:
    """Add tokens to the vocabulary of a model, its generator included.

    They take the places of [unused1], [unused2], … first and stand behind
    the last token then. A new row is the mean of the pieces it replaces;
    all other ids keep theirs, and with them every number they give.

    Examples:

      electra-tf vocab extend runs/base --token “ --token ” --out runs/quotes

      electra-tf vocab extend chinese-electra --tokens terms.txt --out law
    """
    from electra_tf.workflows.change_vocabulary import extend_model, read_tokens

    every = [*(token or ()), *(read_tokens(tokens) if tokens else ())]
    if not every:
        raise ValueError("name what to add: --token, or --tokens with a file")
    done = extend_model(model, every, out, force)
    show_table(
        str(done.out),
        {
            "networks": ", ".join(done.networks),
            "tokens": f"{done.old_size:,} → {done.new_size:,}",
            "in places of [unusedN]": f"{done.reused:,}",
            "behind the last": f"{done.added:,}",
            "ids, old → new": "vocabulary_ids.json",
        },
    )
