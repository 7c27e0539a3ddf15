"""The text of task files: CLUE's JSON and TSV in all its shapes, without labels and answers."""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

TEXT_FIELDS = (
    "text",
    "sentence",
    "sentence1",
    "sentence2",
    "content",
    "abst",
    "text_a",
    "text_b",
    "premise",
    "hypothesis",
)
"""Fields and columns that hold text. Everything else (labels, keywords, ids) is left out."""

FileKind = Literal["plain", "json_lines", "json", "tsv"]

_IDIOM_BLANK = re.compile(r"#idiom\d*#")
_WHOLE_JSON = re.compile(r'\[|\{\s*"(?:version|data)"\s*:|\{\s*$', re.MULTILINE)
_COLUMN_NAME = re.compile(r"\w{1,40}")


def recognize(head: str, name: str) -> FileKind:
    """Says by its beginning what a file is; only `.json` files are taken as one large document.

    Args:
        head: the first lines of the file, the last of them perhaps cut.
        name: of the file, without `.gz`.
    """
    head = head.lstrip()
    first_line = head.partition("\n")[0]
    if name.endswith(".jsonl"):
        return "json_lines"
    if head[:1] in ("{", "["):
        if _is_row(first_line):
            return "json_lines"
        if name.endswith(".json"):
            return "json" if _WHOLE_JSON.match(head) else "json_lines"
    if name.endswith(".json"):
        return "json_lines"
    if name.endswith(".tsv") or text_columns(first_line):
        return "tsv"
    return "plain"


def _is_row(line: str) -> bool:
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and any(field in row for field in TEXT_FIELDS)


def text_columns(header: str) -> list[int]:
    """Gives the places of the columns of text; none where this is no header of a table."""
    names = header.rstrip("\r\n").split("\t")
    if len(names) < 2 or not all(map(_COLUMN_NAME.fullmatch, names)):
        return []
    return [place for place, name in enumerate(names) if name in TEXT_FIELDS]


def row_lines(row: Any) -> list[str]:
    """Gives the text of one JSON object, line by line; the blanks of ChID are closed.

    Raises:
        ValueError: when it is no object, or none of its fields is text.
    """
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    lines: list[str] = []
    found = [row[field] for field in row if field in TEXT_FIELDS]
    for value in found:
        for text in value if isinstance(value, list) else [value]:
            if not isinstance(text, str):
                raise ValueError(f"not a JSON object with strings as text, but {text!r}")
            lines += _IDIOM_BLANK.sub("", text).split("\n")
    if not found:
        raise ValueError(f"not a JSON object with one of {', '.join(TEXT_FIELDS)}")
    return lines


def whole_file_documents(tree: Any) -> Iterator[list[str]]:
    """Yields the documents of a file that is one JSON value, as lines.

    That is CMRC, DRCD and other files in SQuAD's form, CMRC in its first form (`context_text`),
    C3, or a list of rows. A passage is followed by its questions; answers and choices are left out.

    Raises:
        ValueError: for a value of another form.
    """
    if isinstance(tree, dict) and isinstance(tree.get("data"), list):
        tree = [part for article in tree["data"] for part in _list_in(article, "paragraphs")]
    if not isinstance(tree, list):
        raise ValueError("neither a list nor an object with a list `data`")
    for part in tree:
        if isinstance(part, list):
            yield _dialogue_lines(part)
        elif isinstance(part, dict) and {"context", "context_text"} & set(part):
            yield _passage_lines(part)
        else:
            yield row_lines(part)


def _list_in(value: Any, field: str) -> list:
    found = value.get(field) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise ValueError(f"a part without a list `{field}`")
    return found


def _dialogue_lines(part: list) -> list[str]:
    """C3: [turns, questions, id]."""
    if len(part) < 2 or not isinstance(part[0], list) or not isinstance(part[1], list):
        raise ValueError("a list that is no text with questions")
    return _strings([*part[0], *(_field(question, "question") for question in part[1])])


def _passage_lines(part: dict) -> list[str]:
    context = part["context"] if "context" in part else part["context_text"]
    question = "question" if "context" in part else "query_text"
    return _strings([context, *(_field(entry, question) for entry in _list_in(part, "qas"))])


def _field(value: Any, field: str) -> Any:
    return value.get(field) if isinstance(value, dict) else None


def _strings(values: list) -> list[str]:
    wrong = [value for value in values if not isinstance(value, str)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} stands where text should be")
    return [line for value in values for line in value.split("\n")]
