"""`electra-tf vocab`: vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from electra_tf.cli.display import Display, console, show_columns, show_table
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
    kind: Annotated[
        Literal["wordpiece", "sentencepiece"],
        typer.Option("--kind", help="WordPiece, or a SentencePiece model (unigram)."),
    ] = "wordpiece",
    coverage: Annotated[
        float | None,
        typer.Option(
            "--coverage",
            min=0.5,
            max=1.0,
            help="Share of the text that single characters cover; rarer ones become [UNK]. "
            "Default: 1, with SentencePiece 0.9995.",
        ),
    ] = None,
    overrides: Set = None,
) -> None:
    """Build a vocabulary from a corpus.

    WordPiece takes the characters by frequency, then pieces of Latin
    words and numbers. SentencePiece is trained on a sample of some ten
    million characters, which takes minutes.

    Examples:

      electra-tf vocab build --corpus texts/ --set vocab_size=21128 --out vocab.txt

      electra-tf vocab build --corpus texts/ --coverage 0.9999 --out vocab.txt

      electra-tf vocab build --kind sentencepiece --corpus texts/ --set vocab_size=32000 \\
          --out spiece.model
    """
    from electra_tf.config import RecordsConfig, load_config

    how = load_config(RecordsConfig, config, overrides or ())

    from electra_tf.workflows.info import describe_vocabulary
    from electra_tf.workflows.vocabulary import make_vocabulary

    with Display() as display:
        make_vocabulary(how, corpus or ["demo"], out, display.progress, kind, coverage)
    show_table(str(out), describe_vocabulary(out))


@app.command()
def check(
    vocabulary: Annotated[Path, typer.Argument(help="A vocab.txt, or a SentencePiece .model.")],
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", help="Text to try it on: file, folder, glob, or `demo`."),
    ] = None,
    config: Annotated[Path, typer.Option("--config", help="Folding of the text.")] = CONFIGS
    / "corpus"
    / "default.yaml",
    worst: Annotated[int, typer.Option("--worst", min=0, help="Unknown words to name.")] = 20,
    overrides: Set = None,
) -> None:
    """Check a vocabulary, and tell what it does not know of a text.

    Missing special tokens, [PAD] elsewhere than first, blank and
    repeated lines are errors; a byte-order mark, CRLF and blanks around
    tokens are told.

    Examples:

      electra-tf vocab check vocab.txt

      electra-tf vocab check vocab.txt --corpus texts/ --set lower_case=false
    """
    from electra_tf.config import RecordsConfig, load_config

    how = load_config(RecordsConfig, config, overrides or ())

    from electra_tf.workflows.check_vocabulary import report_vocabulary

    with Display() as display:
        report = report_vocabulary(
            vocabulary, corpus or [], display.progress, how.lower_case, how.strip_accents, worst
        )
    show_table(str(vocabulary), report.facts)
    for warning in report.warnings:
        console.print(f"tolerated: {warning}", markup=False)
    if report.text is not None:
        console.print(
            f"\nOn {' '.join(corpus or [])}: {report.text.num_unknown:,} of "
            f"{report.text.num_tokens:,} tokens are [UNK] ({report.text.unknown_rate:.3%})",
            markup=False,
        )
        rows = [
            (word, " ".join(f"U+{ord(character):04X}" for character in word[:4]), count)
            for word, count in report.text.worst
        ]
        if rows:
            show_columns("\nUnknown words, most frequent first", ("word", "", "times"), rows)
