"""Which characters look replaced: a discriminator asked directly.

detect = Detector("runs/demo/encoder")
for token in detect("今天天汽很好"):
    print(token.text, token.start, token.end, token.probability)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from electra_tf.network.pretrained import build_discriminator
from electra_tf.page import Mark, note, page, shaded
from electra_tf.workflows.text_model import read_text_model, with_special_ids

_WINDOWS_AT_ONCE = 32


class JudgedToken(NamedTuple):
    """A token as it stands in the text, `text[start:end]`, and how likely it was replaced."""

    text: str
    start: int
    end: int
    probability: float


class Detector:
    """Judges texts with the discriminator of an encoder folder or run folder.

    Args:
      path: the folder.

    Raises:
      ValueError: nothing readable is there, or a generator.
    """

    def __init__(self, path: str | Path):
        self._model = read_text_model(path, "discriminator", "detect")
        self._network = build_discriminator(self._model.folder.config, self._model.folder.weights)

    def __call__(self, text: str) -> list[JudgedToken]:
        """Judges every token. A text of any length is read in overlapping windows.

        Args:
          text: of one or many lines.

        Returns:
          The tokens in their order; blanks and deleted characters belong to none.
        """
        line = self._model.tokenizer.encode_flat(text)
        probabilities = self._probabilities(line.ids)
        return [
            JudgedToken(text[start:end], int(start), int(end), float(probability))
            for (start, end), probability in zip(line.spans, probabilities, strict=True)
        ]

    def _probabilities(self, ids: np.ndarray) -> np.ndarray:
        """float32 [tokens], each from the window it stands deepest in."""
        size = self._model.max_length - 2
        places = windows(len(ids), size)
        probabilities = np.zeros(len(ids), np.float32)
        for begin in range(0, len(places), _WINDOWS_AT_ONCE):
            some = places[begin : begin + _WINDOWS_AT_ONCE]
            batch = np.zeros((len(some), min(len(ids), size) + 2), np.int32)
            for row, window in enumerate(some):
                part = with_special_ids(self._model.tokenizer, ids[window.start : window.end])
                batch[row, : len(part)] = part
            for window, judged in zip(some, self._network.judge(batch), strict=True):
                own = slice(window.first, window.last)
                shift = 1 - window.start  # [CLS] stands before
                probabilities[own] = judged[window.first + shift : window.last + shift]
        return probabilities


def write_page(path: str | Path, text: str, tokens: Sequence[JudgedToken], model: str) -> None:
    """Writes the judged text as one page.

    Args:
      path: a file that does not exist.
      text: what was judged.
      tokens: as a `Detector` gave them.
      model: who judged, for the heading.

    Raises:
      FileExistsError: the file exists.
    """
    marks, place = [], 0
    for token in tokens:
        marks.append(Mark(text[place : token.start]))
        hint = f"{token.probability:.1%}"
        marks.append(Mark(token.text, token.probability, hint=hint))
        place = token.end
    marks.append(Mark(text[place:]))
    explained = f"Judged by {model}: the redder, the likelier replaced; rest on one for the number."
    shown = page("Which characters look replaced", [note(explained), shaded(marks)])
    with open(path, "x", encoding="utf-8", errors="replace") as file:
        file.write(shown)


class Window(NamedTuple):
    """Tokens `start:end` are read, the answers for `first:last` are taken."""

    start: int
    end: int
    first: int
    last: int


def windows(count: int, size: int) -> list[Window]:
    """Windows that overlap by half, so that every answer has a quarter of context on each side.

    >>> windows(10, 4)[0], windows(10, 4)[-1]
    (Window(start=0, end=4, first=0, last=3), Window(start=6, end=10, first=7, last=10))
    >>> windows(3, 4)
    [Window(start=0, end=3, first=0, last=3)]
    """
    if count <= size:
        return [Window(0, count, 0, count)] if count else []
    step = max(1, size // 2)
    starts = [*range(0, count - size, step), count - size]
    borders = [0, *(start + (size - step + 1) // 2 for start in starts[1:]), count]
    return [
        Window(start, start + size, first, last)
        for start, first, last in zip(starts, borders[:-1], borders[1:], strict=True)
    ]
