"""Reads task files: JSON lines, one JSON value, tables; every defect by path and line."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chinese.documents import likely_encoding

_BOM = "\ufeff"
_WHITESPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True)
class Source:
    """The text some values came from: a file, or one line of it.

    Attributes:
        path: the file.
        first_line: the line `text` begins at, counted from 1.
        text: JSON, or "" for the row of a table.
    """

    path: Path
    first_line: int
    text: str = ""


@dataclass(frozen=True)
class Node:
    """A value of a file that knows where it stands, so that its defects can be named."""

    value: Any
    source: Source
    keys: tuple[str | int, ...] = ()

    def error(self, message: str) -> ValueError:
        """Gives the error to raise: `path:line: message`."""
        return ValueError(f"{self.source.path}:{self.line}: {message}")

    @property
    def line(self) -> int:
        """The line the value begins at, counted from 1."""
        if "\n" not in self.source.text:
            return self.source.first_line
        offset = _offset(self.source.text, self.keys)
        return self.source.first_line + self.source.text.count("\n", 0, offset)

    def __contains__(self, name: str) -> bool:
        return isinstance(self.value, dict) and name in self.value

    def field(self, name: str) -> "Node":
        """Gives a field of an object.

        Raises:
            ValueError: this is no object, or has no such field.
        """
        if not isinstance(self.value, dict):
            raise self.error(f"an object should stand here, found {_shown(self.value)}")
        if name not in self.value:
            raise self.error(
                f"no field {name!r}; found {', '.join(map(str, self.value)) or 'none'}"
            )
        return Node(self.value[name], self.source, (*self.keys, name))

    def items(self) -> list["Node"]:
        """Gives the entries of a list.

        Raises:
            ValueError: this is no list.
        """
        if not isinstance(self.value, list):
            raise self.error(f"{self.name} should be a list, found {_shown(self.value)}")
        return [
            Node(value, self.source, (*self.keys, index)) for index, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """Gives a string; it may be blank.

        Raises:
            ValueError: this is no string.
        """
        if not isinstance(self.value, str):
            raise self.error(f"{self.name} should be text, found {_shown(self.value)}")
        return self.value

    def integer(self) -> int:
        """Gives an integer.

        Raises:
            ValueError: this is none.
        """
        if type(self.value) is not int:
            raise self.error(f"{self.name} should be an integer, found {_shown(self.value)}")
        return self.value

    def identifier(self) -> int | str:
        """Gives an id: an integer or a string.

        Raises:
            ValueError: this is neither.
        """
        if type(self.value) is not int and not isinstance(self.value, str):
            raise self.error(f"{self.name} should be a number or text, found {_shown(self.value)}")
        return self.value

    @property
    def name(self) -> str:
        """How messages call this value: the last key, or "the value"."""
        names = [key for key in self.keys if isinstance(key, str)]
        return repr(names[-1]) if names else "the value"


def _shown(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"


def read_text(path: Path) -> str:
    """Gives the text of a file, without a byte-order mark.

    Raises:
        ValueError: no such file, not UTF-8, or nothing in it.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}:{line}: not UTF-8 (byte {raw[error.start]:#04x}{likely_encoding(raw)}); "
            "convert the file"
        ) from None
    if not text.strip():
        raise ValueError(f"{path}: the file is empty")
    return text


def read_json_lines(path: Path) -> Iterator[Node]:
    """Yields the objects of a file that has one a line; blank lines are passed over.

    Lines end with LF alone, CRLF is tolerated: U+2028 and its kin stand inside texts.

    Raises:
        ValueError: see `read_text`; a line that is no JSON object.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        source = Source(path, number, line)
        row = Node(_parsed(source), source)
        if not isinstance(row.value, dict):
            raise row.error(f"a JSON object should stand on every line, found {_shown(row.value)}")
        yield row


def read_json(path: Path) -> Node:
    """Gives the one JSON value of a file.

    Raises:
        ValueError: see `read_text`; broken JSON.
    """
    source = Source(path, 1, read_text(path))
    return Node(_parsed(source), source)


def _parsed(source: Source) -> Any:
    try:
        return json.loads(source.text)
    except json.JSONDecodeError as error:
        line = source.first_line + error.lineno - 1
        raise ValueError(
            f"{source.path}:{line}: broken JSON ({error.msg}, column {error.colno})"
        ) from None
    except RecursionError:
        raise ValueError(f"{source.path}:{source.first_line}: JSON nested too deep") from None


def read_table(
    path: Path, *headers: tuple[str, ...], without_header: tuple[str, ...] = ()
) -> Iterator[Node]:
    """Yields the rows of a table as objects: column name → cell.

    `.csv` is read with commas and quotes; anything else is cut at tabs, and quotes are letters.

    Args:
        path: the file.
        headers: column names; a first row that has all names of one of them is the header.
        without_header: the columns of a file that may have no header, as LCQMC's. (HFL's loader
            takes the first example for the header then, and loses it.)

    Raises:
        ValueError: see `read_text`; no header; a row of another width.
    """
    header: list[str] | None = None
    for number, cells in _cells(path):
        source = Source(path, number)
        if header is None:
            names = [cell.strip() for cell in cells]
            if any(set(columns) <= set(names) for columns in headers):
                header = names
                continue
            header = list(without_header)
            if len(cells) != len(header):
                wanted = "; or ".join(", ".join(columns) for columns in headers)
                raise Node(None, source).error(
                    f"no header with the columns {wanted}; found {_shown(cells)}"
                )
        if len(cells) != len(header):
            raise Node(None, source).error(f"{len(cells)} columns, {len(header)} in the header")
        yield Node(dict(zip(header, cells, strict=True)), source)


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    text = read_text(path)
    if path.suffix == ".csv":
        reader = csv.reader(io.StringIO(text, newline=""))
        yield from ((reader.line_num, cells) for cells in reader if cells)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.removesuffix("\r").split("\t")


def _offset(text: str, keys: tuple[str | int, ...]) -> int:
    """Gives where in a JSON text the value behind some keys begins."""
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    for key in keys:
        place = _skip(text, place + 1)
        index = 0
        while True:
            name: str | int = index
            if isinstance(key, str):
                name, place = decoder.raw_decode(text, place)
                place = _skip(text, _skip(text, place) + 1)  # behind the colon
            if name == key:
                break
            _, place = decoder.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)  # behind the comma
            index += 1
    return place


def _skip(text: str, place: int) -> int:
    return _WHITESPACE.match(text, place).end()
