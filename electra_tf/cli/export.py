"""`electra-tf export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from electra_tf.cli.display import console


class _Group(TyperGroup):
    """Takes `export MODEL` for `export model MODEL`."""

    def parse_args(self, ctx, args):
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["model", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    help="Write a model for TensorFlow Serving: `export MODEL --out DIR`.\n\n"
    "The word `model` may be left out. Its options: electra-tf export model --help",
)


class Precision(StrEnum):
    """Types of the operands of matrix products."""

    float32 = "float32"
    bfloat16 = "bfloat16"


@app.command("model")
def export(
    model: Annotated[Path, typer.Argument(help="A run, or a discriminator of any format.")],
    out: Annotated[Path, typer.Option("--out", help="The served model; gets OUT/<version>/.")],
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="Default: the next number.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="In the URL. Default: the name of OUT.")
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option("--max-length", min=5, help="Tokens of a text. Default: as trained."),
    ] = None,
    precision: Annotated[
        Precision, typer.Option("--precision", help="Of matrix products.")
    ] = Precision.float32,
) -> None:
    """Write a SavedModel that takes text and gives answers.

    A stock TensorFlow Serving of 2.12 or later loads it; the tokenizer is
    part of it. Nothing that stands in OUT is overwritten.

    Examples:

      electra-tf export runs/demo --out models/detect

      electra-tf export runs/demo --out models/detect --precision bfloat16
    """
    from electra_tf.workflows.export import export as write

    exported = write(
        model,
        out,
        version=version,
        name=name,
        max_length=max_length,
        precision=precision.value,
    )
    console.print(f"{exported.folder / str(exported.version)}", markup=False)
