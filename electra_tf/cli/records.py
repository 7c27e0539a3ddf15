"""`electra-tf records`: text into training records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from electra_tf.cli.display import Display, console, show_table
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
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes; the records are the same for any.")
    ] = 1,
    on_bad_text: Annotated[
        str, typer.Option("--on-bad-text", help="Lines that cannot be read: refuse, or skip.")
    ] = "refuse",
    overrides: Set = None,
) -> None:
    """Build TFRecord shards with a manifest.

    Examples:

      electra-tf records build --out records/demo

      electra-tf records build --corpus texts/ --vocab vocab.txt --set max_length=512 \\
          --out records/mine

      electra-tf records build --corpus news/:0.7 --corpus wiki/:0.3 --workers 8 \\
          --out records/mixed
    """
    from electra_tf.config import RecordsConfig, load_config

    how = load_config(RecordsConfig, config, overrides or ())

    from electra_tf.workflows.records import build_facts, build_records

    with Display() as display:
        build_records(
            how, corpus or ["demo"], out, display.progress, vocab, workers, _checked(on_bad_text)
        )
    show_table(str(out), build_facts(out))
    console.print(f"report: {out / 'report.html'}", markup=False)


def _checked(on_bad_text: str) -> Literal["refuse", "skip"]:
    if on_bad_text not in ("refuse", "skip"):
        raise ValueError(f"--on-bad-text is {on_bad_text}: choose refuse or skip")
    return "skip" if on_bad_text == "skip" else "refuse"
