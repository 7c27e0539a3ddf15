"""Options that several commands share, said once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Corpus = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        help="Text: a file, folder or glob (UTF-8 .txt where a blank line ends a document, .jsonl, "
        "CLUE's .json and .tsv; also .gz). Several may follow; a.txt:0.7 weighs one. "
        "Default: the embedded demo text.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key of the config: optimizer.learning_rate=2e-4."),
]
RecordsConfigFile = Annotated[
    Path, typer.Option("--records-config", help="How text becomes records (YAML).")
]
Vocab = Annotated[
    Path | None,
    typer.Option(
        "--vocab",
        help="A BERT vocab.txt, or a SentencePiece .model. Default: built from the corpus.",
    ),
]
TextArgument = Annotated[str, typer.Argument(help="The text; - reads it from standard input.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def read_text(argument: str) -> str:
    """The text of a command: given as it is, or, for `-`, all of standard input.

    Raises:
      ValueError: standard input is not UTF-8, or there is no text.
    """
    text = argument
    if argument == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"standard input is not UTF-8 ({error}); convert it first") from None
    if not text.strip():
        raise ValueError("the text is empty; give some, or - to read standard input")
    return text
