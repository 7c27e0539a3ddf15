"""`electra-tf pretrain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from electra_tf.cli.display import Display, console, show_table
from electra_tf.cli.options import CONFIGS, Corpus, RecordsConfigFile, Set, Vocab

if TYPE_CHECKING:
    from electra_tf.pretrain.run import RunResult

_CTRL_C_EXIT_CODE = 130


def pretrain(
    config: Annotated[Path, typer.Option("--config", help="The run (YAML).")] = CONFIGS
    / "pretrain"
    / "demo.yaml",
    out: Annotated[Path, typer.Option("--out", help="The run folder.")] = Path("runs/demo"),
    corpus: Corpus = None,
    records: Annotated[
        Path | None, typer.Option("--records", help="Records built before, instead of a corpus.")
    ] = None,
    records_config: RecordsConfigFile = CONFIGS / "corpus" / "default.yaml",
    vocab: Vocab = None,
    overrides: Set = None,
    init_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--init-from",
            help="Start from a model: a run, encoder folder, Hugging Face folder or TF1 "
            "checkpoint; of a BERT say which network it starts (bert-base-chinese:generator). "
            "Optimizer and step begin anew. May be given twice, for both networks.",
        ),
    ] = None,
) -> None:
    """Pre-train a generator and a discriminator; run again to resume.

    Ctrl-C and SIGTERM save and stop; a second Ctrl-C leaves at once.

    Examples:

      electra-tf pretrain

      electra-tf pretrain --corpus texts/ --config configs/pretrain/small.yaml --out runs/mine

      electra-tf pretrain --records records/wiki --config configs/pretrain/base.yaml \\
          --out runs/base --set training.batch_size=512

      electra-tf pretrain --records records/law --init-from runs/base \\
          --config configs/pretrain/base.yaml --out runs/law
    """
    from electra_tf.config import PretrainConfig, RecordsConfig, load_config

    run = load_config(PretrainConfig, config, overrides or ())
    if records is not None and (corpus or vocab):
        raise ValueError("--records holds text and vocabulary already; leave out --corpus, --vocab")
    text = load_config(RecordsConfig, records_config)

    from electra_tf.workflows import pretrain as workflow

    with Display() as display:
        if records is not None:
            result = workflow.pretrain(run, records, out, display, init_from or ())
        else:
            result = workflow.pretrain_from_text(
                run,
                text,
                corpus or ["demo"],
                out,
                display,
                display.progress,
                vocab,
                init_from or (),
            )
    if result.stopped_by:
        console.print(
            f"{result.stopped_by}: {out} is saved at step {result.step:,}. "
            f"Run the same command again to go on.",
            markup=False,
        )
        raise typer.Exit(_CTRL_C_EXIT_CODE if result.stopped_by == "Ctrl-C" else 0)
    _summarize(result)


def _summarize(result: RunResult) -> None:
    """Where everything is, how well it went, and what to do next."""
    first, last, folder = result.evaluations[0], result.evaluations[-1], result.folder
    if result.was_finished:
        console.print(
            f"{folder} is finished: its limit of {result.limit} was reached at step "
            f"{result.step:,}."
        )
        knob = "train_steps" if result.limit == "steps" else f"max_{result.limit}"
        console.print(f"To go on: --set training.{knob}=… with a larger number.")
    rows = {
        "generator loss at [MASK]": f"{first['hidden_lm_loss']:.3f} → "
        f"{last['hidden_lm_loss']:.3f} nats (unigram entropy {result.unigram_entropy_nats:.3f})",
        "generator accuracy": f"{first['hidden_lm_accuracy']:.1%} → "
        f"{last['hidden_lm_accuracy']:.1%}",
        "discriminator AUC": f"{first['discriminator_auc']:.3f} → {last['discriminator_auc']:.3f}",
        "AUC on unigram replacements": f"{first['unigram_auc']:.3f} → {last['unigram_auc']:.3f}",
        "precision, recall": f"{last['discriminator_precision']:.1%}, "
        f"{last['discriminator_recall']:.1%}",
        "replaced": f"{last['replaced_rate']:.1%} of the tokens",
    }
    show_table("\nHeld-out text, first → last evaluation", rows)
    places = {
        f"{folder}/encoder": "the discriminator: the model to fine-tune",
        f"{folder}/generator": "the generator: fills masks",
        f"{folder}/best": "both, as they were at the best evaluation",
        f"{folder}/report.html": "curves, corpus, ten judged texts; opens in a browser",
        f"{folder}/metrics.jsonl": "every number, one JSON line a report",
        f"{folder}/events": f"for tensorboard --logdir {folder}/events",
        f"{folder}/config.yaml": "every knob, as used",
    }
    show_table("\nWhere everything is", places)
    console.print("\nNext:")
    console.print(f"  electra-tf info {folder}/encoder", markup=False)
    console.print(f'  electra-tf fill-mask {folder} "今天[MASK]气很好"', markup=False)
    console.print(f'  electra-tf detect {folder} "今天天汽很好"', markup=False)
    console.print(
        "  electra-tf pretrain --corpus YOUR_TEXT --config configs/pretrain/small.yaml "
        "--out runs/mine",
        markup=False,
    )
