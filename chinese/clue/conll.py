"""Files of one character, or word, and its tag a line; a blank line ends a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chinese.clue.files import Node, Source, read_text

_BEGINS = "BS"
_ENDS = "ES"
_GOES_ON = "IME"


def read_conll(path: Path) -> Iterator[Node]:
    """Yields rows `{"text": …, "label": [{"type", "start", "end"}]}`, end exclusive.

    Tags are O, and B-, I-, M-, E-, S- with a type, as in BIO, BIOS, BIOES and BMES. A file without
    tags gives rows without a label. Words of Latin letters are joined by blanks, all others are
    not.

    Raises:
        ValueError: with path and line, for a tag that cannot stand where it does.
    """
    lines = read_text(path).split("\n")
    sentence: list[tuple[int, list[str]]] = []
    for number, line in enumerate([*lines, ""], start=1):
        columns = line.split()
        if columns:
            sentence.append((number, columns))
        elif sentence:
            yield _row(path, sentence)
            sentence = []


def _row(path: Path, sentence: list[tuple[int, list[str]]]) -> Node:
    text = ""
    entities: list[dict] = []
    is_open = False
    for number, columns in sentence:
        word = columns[0]
        if text and _is_latin(text[-1]) and _is_latin(word[0]):
            text += " "
        start = len(text)
        text += word
        if len(columns) == 1:
            continue
        sign, _, name = columns[-1].partition("-")
        if sign == "O" and not name:
            is_open = False
        elif sign and sign in _BEGINS and name:
            entities.append({"type": name, "start": start, "end": len(text)})
            is_open = sign not in _ENDS
        elif sign and sign in _GOES_ON and is_open and entities[-1]["type"] == name:
            entities[-1]["end"] = len(text)
            is_open = sign not in _ENDS
        else:
            raise ValueError(
                f"{path}:{number}: tag {columns[-1]!r} cannot stand here; O, B-type, or I-type "
                "behind one of its type"
            )
    first_line, columns = sentence[0]
    value = {"text": text} | ({"label": entities} if len(columns) > 1 else {})
    return Node(value, Source(path, first_line))


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()
