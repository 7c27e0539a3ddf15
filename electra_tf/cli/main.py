"""The command `electra-tf`: one file a command, nothing heavy imported before it is needed."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import typer

from electra_tf.cli import (
    clue,
    convert,
    detect,
    evaluate,
    export,
    fill_mask,
    info,
    pretrain,
    records,
    records_import,
    records_overlap,
    records_show,
    records_verify,
    report,
    segment,
    vocab,
    vocab_extend,
    vocab_trim,
    watch,
)

app = typer.Typer(
    help="Pre-train ELECTRA models for Chinese.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("pretrain")(pretrain.pretrain)
app.command("evaluate")(evaluate.evaluate)
app.command("convert")(convert.convert)
app.command("info")(info.info)
app.command("watch")(watch.watch)
app.command("report")(report.report)
app.command("fill-mask")(fill_mask.fill_mask)
app.command("detect")(detect.detect)
records.app.command("verify")(records_verify.verify)
records.app.command("show")(records_show.show)
records.app.command("import")(records_import.import_)
records.app.command("overlap")(records_overlap.overlap)
app.add_typer(clue.app, name="clue")
app.add_typer(export.app, name="export")
app.add_typer(records.app, name="records")
app.add_typer(segment.app, name="segment")
vocab.app.command("extend")(vocab_extend.extend)
vocab.app.command("trim")(vocab_trim.trim)
app.add_typer(vocab.app, name="vocab")


# Commands that take text and nothing else without a name.
_TAKES_CORPORA = (["pretrain"], ["records", "build"], ["vocab", "build"])


def spread_corpora(arguments: list[str]) -> list[str]:
    """Lets `--corpus` stand once before several paths: the shell makes such of `texts/*.txt`.

    >>> spread_corpora(["pretrain", "--corpus", "a.txt", "b.txt", "--out", "runs/x"])
    ['pretrain', '--corpus', 'a.txt', '--corpus', 'b.txt', '--out', 'runs/x']
    >>> spread_corpora(["vocab", "check", "--corpus", "a.txt", "vocab.txt"])
    ['vocab', 'check', '--corpus', 'a.txt', 'vocab.txt']
    """
    if not any(arguments[: len(words)] == words for words in _TAKES_CORPORA):
        return arguments
    spread: list[str] = []
    for argument in arguments:
        follows_a_corpus = len(spread) > 1 and spread[-2] == "--corpus"
        if follows_a_corpus and not argument.startswith("-"):
            spread.append("--corpus")
        spread.append(argument)
    return spread


def main() -> None:
    """Runs the command; a user's mistake ends with one message and exit code 1."""
    # TensorFlow greets with a page of notes about CPU features, and with an error where there is no
    # GPU. Where there is one, its errors are worth reading.
    has_gpu = Path("/dev/nvidiactl").exists()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2" if has_gpu else "3")
    # A terminal of another encoding shows a question mark rather than end a build with an error.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        app(spread_corpora(sys.argv[1:]))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\nstopped; run the same command again to go on", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
