"""`electra-tf detect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.style import Style
from rich.text import Text

from electra_tf.cli.display import console, show_columns
from electra_tf.cli.options import AsJson, TextArgument, read_text

if TYPE_CHECKING:
    from electra_tf.workflows.detect import JudgedToken

_NOTABLE = 0.5  # likelier replaced than not


def detect(
    model: Annotated[Path, typer.Argument(help="A run, or a discriminator of any format.")],
    text: TextArgument,
    top: Annotated[int, typer.Option("--top", min=0, help="Listed, most suspicious first.")] = 5,
    as_json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page; it opens offline.")
    ] = None,
) -> None:
    """Say which characters look replaced.

    The redder a character, the likelier it is not the one the author
    wrote. Without colours those over 50 % stand in ⟦brackets⟧.

    Examples:

      electra-tf detect runs/demo "今天天汽很好"

      electra-tf detect runs/demo - --html judged.html < article.txt
    """
    if html is not None and html.exists():
        raise ValueError(f"{html}: exists already; give another --html, or remove it")

    from electra_tf.workflows.detect import Detector, write_page

    text = read_text(text)
    tokens = Detector(model)(text)
    if html is not None:
        write_page(html, text, tokens, str(model))
    if as_json:
        tree = {"text": text, "tokens": [token._asdict() for token in tokens]}
        console.print_json(json.dumps(tree))
        return
    console.print(_shaded(text, tokens))
    suspects = sorted(tokens, key=lambda token: -token.probability)[:top]
    if suspects:
        show_columns(
            "\nMost suspicious",
            ("token", "at character", "probability"),
            [(token.text, token.start, f"{token.probability:.1%}") for token in suspects],
        )
    if html is not None:
        console.print(f"\n{html}", markup=False)


def _shaded(text: str, tokens: list[JudgedToken]) -> Text:
    """The text itself, blanks and all, with every token on its ground."""
    shown, place = Text(), 0
    for token in tokens:
        shown.append(text[place : token.start])
        is_notable = token.probability >= _NOTABLE
        if console.is_terminal and not console.no_color:
            shown.append(token.text, _style(token.probability, is_notable))
        else:
            shown.append(f"⟦{token.text}⟧" if is_notable else token.text)
        place = token.end
    return shown.append(text[place:])


def _style(probability: float, is_notable: bool) -> Style:
    """From no ground at all to red; white letters where it is dark."""
    if probability < 0.1:
        return Style()
    pale = round(215 * (1 - probability))
    colour = "white" if probability > 0.6 else "black"
    return Style.parse(f"{colour} on rgb(235,{pale},{pale})") + Style(bold=is_notable)
