"""`electra-tf segment`: words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from electra_tf.cli.display import show_columns

app = typer.Typer(help="Finding words.", no_args_is_help=True)


@app.callback()
def segment() -> None:
    """Finding words."""


@app.command()
def evaluate(
    gold: Annotated[
        list[Path],
        typer.Option("--gold", help="Words separated by blanks, a sentence a line; or .conllu."),
    ],
    more: Annotated[
        list[Path] | None, typer.Argument(help="More files of gold words.", metavar="[FILES]...")
    ] = None,
    segmenter: Annotated[
        Literal["auto", "jieba", "rjieba", "characters"],
        typer.Option("--segmenter", help="Who finds the words."),
    ] = "auto",
    user_dictionary: Annotated[
        list[Path] | None,
        typer.Option("--user-dictionary", help="Words of your own, one a line; jieba reads them."),
    ] = None,
) -> None:
    """Score a segmenter against words marked by people.

    A word counts as found when both its ends agree.

    Examples:

      electra-tf segment evaluate --gold gold/*.txt

      electra-tf segment evaluate --gold dev.conllu --user-dictionary names.txt
    """
    from electra_tf.workflows.segmentation import evaluate_segmentation

    name, results = evaluate_segmentation([*gold, *(more or ())], segmenter, user_dictionary or ())
    header = ("file", "sentences", "words", "precision", "recall", "F1")
    rows = [
        (result.file, result.sentences, result.words, *(f"{part:.4f}" for part in result.score))
        for result in results
    ]
    show_columns(f"Words found by {name}", header, rows)
