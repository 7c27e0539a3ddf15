"""`electra-tf records`: text into training records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    user_dictionary: Annotated[
        list[Path] | None,
        typer.Option(
            "--user-dictionary", help="Words of your own, one a line; jieba then finds the words."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes; the records are the same for any.")
    ] = 1,
    on_bad_text: Annotated[
        str, typer.Option("--on-bad-text", help="Lines that cannot be read: refuse, or skip.")
    ] = "refuse",
    runner: Annotated[
        str | None,
        typer.Option("--runner", help="Apache Beam instead: direct, flink, spark or dataflow."),
    ] = None,
    runner_options: Annotated[
        list[str] | None,
        typer.Option("--runner-option", help="Of Beam: --runner-option=--flink_master=HOST:8081."),
    ] = None,
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
    if user_dictionary:
        how = how.model_copy(update={"user_dictionaries": tuple(map(str, user_dictionary))})

    from electra_tf.workflows.records import build_facts, build_records

    texts, bad_text = corpus or ["demo"], _one_of("--on-bad-text", on_bad_text, "refuse", "skip")
    if runner is not None:
        _one_of("--runner", runner, "direct", "flink", "spark", "dataflow")
        if vocab is None:
            raise ValueError("--runner needs --vocab; make one with `electra-tf vocab build`")
        try:
            from electra_tf.workflows.beam_records import build_records_on
        except ModuleNotFoundError:
            raise ValueError("--runner needs Apache Beam: pip install 'electra-tf[beam]'") from None
        build_records_on(runner, runner_options or [], how, texts, out, vocab, bad_text)
    else:
        with Display() as display:
            build_records(how, texts, out, display.progress, vocab, workers, bad_text)
    show_table(str(out), build_facts(out))
    console.print(f"report: {out / 'report.html'}", markup=False)


def _one_of(option: str, value: str, *choices: str) -> Any:
    if value not in choices:
        raise ValueError(f"{option} is {value}: choose one of {', '.join(choices)}")
    return value
