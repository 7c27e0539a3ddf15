"""`electra-tf records show`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from electra_tf.cli.display import console
from electra_tf.cli.options import CONFIGS, Set

if TYPE_CHECKING:
    from electra_tf.workflows.show_records import ShownExample, ShownToken

_STYLES = {
    "masked": "bold white on red",
    "random": "bold white on blue",
    "kept": "bold black on yellow",
    "special": "dim",
}
# No text of a corpus has these.
_MARKS = {"masked": ("⟦", "⟧"), "random": ("⟪", "⟫"), "kept": ("⟨", "⟩")}
_LEGEND = {
    "masked": "hidden behind [MASK]",
    "random": "hidden behind a random token",
    "kept": "to be guessed, but it stands there",
}


def show(
    folder: Annotated[Path, typer.Argument(help="A folder of records.")],
    count: Annotated[int, typer.Option("--count", min=1, help="How many examples.")] = 3,
    split: Annotated[
        Literal["train", "held_out"], typer.Option("--split", help="From which part.")
    ] = "train",
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Which examples, and what is hidden in them.")
    ] = 1,
    mode: Annotated[
        str | None, typer.Option("--mode", help="What is hidden together: masking.mode.")
    ] = None,
    mask_rate: Annotated[
        float | None, typer.Option("--mask-rate", help="Share of hidden tokens.")
    ] = None,
    config: Annotated[Path, typer.Option("--config", help="Whose masking is shown.")] = CONFIGS
    / "pretrain"
    / "demo.yaml",
    overrides: Set = None,
) -> None:
    """Show examples as training masks them.

    Blanks stand between the units that are hidden together, a dot
    between two units of one word. In a terminal hidden tokens are
    coloured; elsewhere, and with NO_COLOR, they are in brackets.

    Examples:

      electra-tf records show runs/demo/records

      electra-tf records show runs/demo/records --mode token --mask-rate 0.25 --count 5
    """
    from electra_tf.config import PretrainConfig, load_config

    knobs = list(overrides or ())
    knobs += [f"masking.mode={mode}"] if mode is not None else []
    knobs += [f"masking.mask_rate={mask_rate}"] if mask_rate is not None else []
    masking = load_config(PretrainConfig, config, knobs).masking

    from electra_tf.workflows.show_records import show_records

    examples = show_records(folder, masking, count, split, seed)
    legend = [
        _mark(*entry)
        for entry in _LEGEND.items()
        if masking.random_token_rate or entry[0] != "random"
    ]
    console.print(Text("   ").join(legend))
    for number, example in enumerate(examples, start=1):
        console.print(_headline(number, example), style="bold")
        for place, segments in enumerate(example.sequences, start=1):
            owner = f"{place} " if len(example.sequences) > 1 else ""
            for name, tokens in zip("AB", segments, strict=False):
                console.print(Text(f"  {owner}{name}  ").append_text(_line(tokens)))


def _headline(number: int, example: ShownExample) -> str:
    share = example.num_hidden / max(1, example.num_maskable)
    count = len(example.sequences)
    sequences = f" in {count} sequences" if count > 1 else ""
    return (
        f"\nexample {number}: {example.num_tokens} tokens{sequences}, {example.num_hidden} of "
        f"{example.num_maskable} hidden ({share:.1%})"
    )


def _line(tokens: Iterable[ShownToken]) -> Text:
    """The tokens of a segment; neighbours of one state in one unit share one mark."""
    line = Text()
    group = 0
    numbered = []
    for token in tokens:
        group += bool(token.before)
        numbered.append((group, token))
    for (_, state), members in groupby(numbered, key=lambda entry: (entry[0], entry[1].state)):
        marked = [token for _, token in members]
        line.append(marked[0].before)
        line.append_text(_mark(state, "".join(token.text for token in marked)))
    return line


def _mark(state: str, text: str) -> Text:
    if console.is_terminal and not console.no_color:
        return Text(text, style=_STYLES.get(state, ""))
    before, after = _MARKS.get(state, ("", ""))
    return Text(f"{before}{text}{after}")
