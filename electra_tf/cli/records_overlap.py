"""`electra-tf records overlap`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from electra_tf.cli.display import Display, console, show_columns

_SHOWN_CHARACTERS = 60


def overlap(
    corpus: Annotated[
        str, typer.Argument(help="Text (file, folder, glob, `demo`) or a folder of records.")
    ],
    against: Annotated[
        list[Path],
        typer.Option("--against", help="Files of texts: .json, .jsonl, .tsv, or a text a line."),
    ],
    more: Annotated[
        list[Path] | None, typer.Argument(help="More files of texts.", metavar="[FILES]...")
    ] = None,
    worst: Annotated[int, typer.Option("--worst", min=0, help="Texts to name for each file.")] = 3,
) -> None:
    """Tell how much of development and test sets stands in a corpus.

    A text is shared when 20 letters, digits or Han characters in a row
    stand in the corpus, whatever punctuation is between them, and
    covered when all its runs of 20 do. Shorter texts tell nothing.

    Examples:

      electra-tf records overlap texts/ --against tnews/dev.json

      electra-tf records overlap runs/demo/records --against clue/*/dev.json
    """
    from electra_tf.workflows.overlap import measure_overlap

    with Display() as display:
        found = measure_overlap(corpus, [*against, *(more or ())], display.progress, worst)
    rows = [
        (
            file.file,
            file.num_texts,
            file.num_comparable,
            file.num_shared,
            _share(file.num_shared, file.num_comparable),
            file.num_covered,
            _share(file.num_covered, file.num_comparable),
        )
        for file in found
    ]
    header = ("file", "texts", "long enough", "shared", "", "covered", "")
    show_columns(f"Texts that stand in {corpus}", header, rows)
    for file in found:
        if file.worst:
            console.print(f"\n{file.file}", markup=False)
        for share, text in file.worst:
            line = " ".join(text.split())
            tail = "…" if len(line) > _SHOWN_CHARACTERS else ""
            console.print(Text(f"  {share:>6.1%} found: {line[:_SHOWN_CHARACTERS]}{tail}"))


def _share(count: int, total: int) -> str:
    return f"{count / total:.3%}" if total else "–"
