"""`electra-tf vocab`: vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import Display, show_table
from electra_tf.cli.options import CONFIGS, Corpus, Set

app = typer.Typer(help="Vocabularies.", no_args_is_help=True)


@app.callback()
def vocab() -> None:
    """Vocabularies."""


@app.command()
def build(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
    corpus: Corpus = None,
    config: Annotated[Path, typer.Option("--config", help="Size and folding.")] = CONFIGS
    / "corpus"
    / "default.yaml",
    overrides: Set = None,
) -> None:
    """Build a WordPiece vocabulary from a corpus.

    Example:

      electra-tf vocab build --corpus texts/ --set vocab_size=21128 --out vocab.txt
    """
    from electra_tf.config import RecordsConfig, load_config

    how = load_config(RecordsConfig, config, overrides or ())

    from electra_tf.workflows.info import describe
    from electra_tf.workflows.records import make_vocabulary

    with Display() as display:
        make_vocabulary(how, corpus or ["demo"], out, display.progress)
    show_table(str(out), describe(out))
