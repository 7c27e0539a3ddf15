"""`electra-tf records`: text into training records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import Display, show_table
from electra_tf.cli.options import CONFIGS, Corpus, Set, Vocab

app = typer.Typer(help="Text into training records.", no_args_is_help=True)


@app.callback()
def records() -> None:
    """Text into training records."""


@app.command()
def build(
    out: Annotated[Path, typer.Option("--out", help="A new folder.")],
    corpus: Corpus = None,
    config: Annotated[Path, typer.Option("--config", help="How text becomes records.")] = CONFIGS
    / "corpus"
    / "default.yaml",
    vocab: Vocab = None,
    overrides: Set = None,
) -> None:
    """Build TFRecord shards with a manifest.

    Examples:

      electra-tf records build --out records/demo

      electra-tf records build --corpus texts/ --vocab vocab.txt --set max_length=512 \\
          --out records/mine
    """
    from electra_tf.config import RecordsConfig, load_config

    how = load_config(RecordsConfig, config, overrides or ())

    from electra_tf.workflows.info import describe
    from electra_tf.workflows.records import build_records

    with Display() as display:
        build_records(how, corpus or ["demo"], out, display.progress, vocab)
    show_table(str(out), describe(out))
