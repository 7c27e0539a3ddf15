"""`electra-tf convert`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from electra_tf.cli.display import console

if TYPE_CHECKING:
    from electra_tf.workflows.models import Account


class Target(StrEnum):
    """Formats that can be written."""

    encoder = "encoder"
    hf = "hf"
    tf1 = "tf1"
    model_garden = "model-garden"
    keras_hub = "keras-hub"


class Component(StrEnum):
    """Networks that can be asked for."""

    discriminator = "discriminator"
    generator = "generator"
    both = "both"


def convert(
    source: Annotated[
        Path, typer.Argument(help="A run, encoder folder, Hugging Face folder or TF1 checkpoint.")
    ],
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    target: Annotated[Target, typer.Option("--to", help="The format to write.")],
    component: Annotated[
        Component | None, typer.Option("--component", help="Default: what the source holds.")
    ] = None,
    pair: Annotated[
        Path | None, typer.Option("--pair", help="The other network, if it lies elsewhere.")
    ] = None,
    vocab: Annotated[
        Path | None, typer.Option("--vocab", help="A vocab.txt, if none lies beside the source.")
    ] = None,
    with_optimizer: Annotated[
        bool, typer.Option("--with-optimizer", help="To tf1: Adam's moments and the step, too.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a folder of this format.")
    ] = False,
) -> None:
    """Convert a model from any known format into another.

    Examples:

      electra-tf convert chinese-electra-small-discriminator --to encoder small

      electra-tf convert runs/demo --to hf for-transformers

      electra-tf convert downloads/electra_small --to tf1 copy --component both
    """
    from electra_tf.workflows import convert as workflow

    conversion = workflow.convert(
        source, target.value, out, component and component.value, pair, vocab, force, with_optimizer
    )
    for kind, account in conversion.accounts.items():
        _show(kind, account)
    for note in conversion.notes:
        console.print(f"  note     {note}", markup=False)
    console.print(f"written: {conversion.out}", markup=False)


def _show(kind: str, account: Account) -> None:
    """What became of every array."""
    lines = [f"{kind}: {account.converted} tensors converted from {account.what}"]
    for word, groups in (("ignored", account.ignored), ("missing", account.missing)):
        lines += [f"  {word}  {_some(names)}: {reason}" for reason, names in groups.items()]
    lines += [f"  note     {note}" for note in account.notes]
    console.print("\n".join(lines), markup=False)


def _some(names: tuple[str, ...]) -> str:
    if len(names) <= 2:
        return ", ".join(names)
    return f"{len(names)} tensors ({names[0]}, …)"
