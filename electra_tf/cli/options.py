"""Options that several commands share, said once."""

from __future__ import annotations

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
    typer.Option("--vocab", help="A BERT vocab.txt. Default: one built from the corpus."),
]

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
