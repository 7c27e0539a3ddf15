"""`electra-tf fill-mask`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import console, show_columns
from electra_tf.cli.options import AsJson, TextArgument, read_text


def fill_mask(
    model: Annotated[Path, typer.Argument(help="A run, or a generator of any format.")],
    text: TextArgument,
    top: Annotated[int, typer.Option("--top", min=1, help="Guesses for each [MASK].")] = 5,
    as_json: AsJson = False,
) -> None:
    """Guess what stands at [MASK].

    One [MASK] hides one token: a Han character, or a piece of a
    Latin word (## marks a piece that continues one).

    Examples:

      electra-tf fill-mask runs/demo "今天[MASK]气很好"

      echo "今天[MASK]气很好" | electra-tf fill-mask runs/demo - --json
    """
    from electra_tf.workflows.fill_mask import MaskFiller

    text = read_text(text)
    masks = MaskFiller(model)(text, top)
    if as_json:
        tree = {
            "text": text,
            "masks": [
                {"offset": mask.offset, "guesses": [guess._asdict() for guess in mask.guesses]}
                for mask in masks
            ],
        }
        console.print_json(json.dumps(tree))
        return
    for number, mask in enumerate(masks, start=1):
        show_columns(
            f"\n[MASK] {number} of {len(masks)}, at character {mask.offset}",
            ("token", "probability"),
            [(guess.token, f"{guess.probability:.1%}") for guess in mask.guesses],
        )
