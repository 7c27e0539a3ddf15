"""`electra-tf records import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import Display, show_table


def import_(
    folder: Annotated[Path, typer.Argument(help="Records of google-research/electra's builder.")],
    vocab: Annotated[Path, typer.Option("--vocab", help="The vocab.txt they were built with.")],
    out: Annotated[Path, typer.Option("--out", help="A new folder.")],
    lower_case: Annotated[
        bool, typer.Option("--lower-case/--cased", help="How their text was folded.")
    ] = True,
    held_out_rate: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of examples kept for evaluation.")
    ] = 0.01,
    examples_per_shard: Annotated[int, typer.Option(min=1, help="Examples of one file.")] = 20_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of shuffling and holding out.")] = 1,
) -> None:
    """Turn records of google-research/electra into ours.

    They know no words: every token becomes a unit of its own, so tokens
    are masked, whatever masking.mode says.

    Example:

      electra-tf records import pretrain_tfrecords/ --vocab vocab.txt --out records/imported
    """
    from electra_tf.workflows.import_records import import_records
    from electra_tf.workflows.info import describe

    with Display() as display:
        import_records(
            folder,
            vocab,
            out,
            display.examples,
            lower_case=lower_case,
            held_out_rate=held_out_rate,
            examples_per_shard=examples_per_shard,
            seed=seed,
        )
    show_table(str(out), describe(out))
