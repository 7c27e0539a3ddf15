"""Files into documents: found, read, recognised, cleaned; repetitions and shares taken out."""

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Literal, TypeGuard

from chinese.normalize import clean_line
from chinese.task_files import recognize, row_lines, text_columns, whole_file_documents

Document = list[str]
"""The lines of one document, cleaned, none of them blank."""

OnBadText = Literal["refuse", "skip"]

LONGEST_DOCUMENT = 1 << 20
"""In characters. A file without blank lines is no single document, and memory stays flat."""

_SUFFIXES = ("", ".txt", ".json", ".jsonl", ".tsv")
_GLOB_SIGNS = frozenset("*?[")
_NO_TEXT = re.compile(r"label|.*_(?:predict|answer)\b")  # names of CLUE's files
_HEAD_BYTES = 1 << 20
_PART_BYTES = 1 << 20  # a longer line of plain text goes on as the next line
_CUT_AFTER = re.compile(
    f"(?:{'|'.join('。！？；…')})+(?:{'|'.join('”’」』）】》〉〕〗')})*|[ \\t]+"  # for bytes, too
)
_CUT_BYTES_AFTER = re.compile(_CUT_AFTER.pattern.encode())
_CUT_WITHIN = 1 << 16  # so far back a part of a line is searched for a place to cut


@dataclass
class ReadCounts:
    """What was met while reading; `bad_lines` were left out, being neither UTF-8 nor a row.

    `documents`, `lines` and `characters` are of all text read, `duplicates` and `left_out` (by a
    share) are documents among them; `cut_documents` were longer than `LONGEST_DOCUMENT`.
    """

    files: int = 0
    documents: int = 0
    lines: int = 0
    characters: int = 0
    bad_lines: int = 0
    cut_documents: int = 0
    duplicates: int = 0
    left_out: int = 0


def list_corpus_files(paths: Iterable[Path | str]) -> list[Path]:
    """Gives the files behind files, folders and globs, each once, sorted within each path.

    A folder stands for all files in it, at any depth, named `*.txt`, `*.json`, `*.jsonl`, `*.tsv`,
    any of them with `.gz`, or without a suffix. Passed over are names that begin with a dot, and
    what CLUE calls its labels, answers and predictions.

    Raises:
        ValueError: when a path leads to no file.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_file():
            matches = [path]
        elif path.is_dir():
            matches = sorted(entry for entry in path.rglob("*") if _is_corpus_file(entry, path))
        elif _GLOB_SIGNS & set(str(path)):
            root, pattern = _split_glob(path)
            matches = sorted(entry for entry in root.glob(pattern) if _is_visible_file(entry))
        else:
            matches = []
        if not matches:
            raise ValueError(f"corpus {path}: no file, or a folder without text; check the path")
        found.update(dict.fromkeys(matches))
    return list(found)


def _split_glob(path: Path) -> tuple[Path, str]:
    """Gives the folder that is there as it is written, brackets and all, and the glob below it."""
    root, parts = Path(path.anchor), list(path.relative_to(path.anchor).parts)
    while len(parts) > 1 and (root / parts[0]).is_dir():
        root /= parts.pop(0)
    return root, "/".join(parts)


def _is_visible_file(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def _is_corpus_file(path: Path, root: Path) -> bool:
    if any(part.startswith(".") for part in path.relative_to(root).parts) or not path.is_file():
        return False
    is_text = Path(_bare_name(path)).suffix in _SUFFIXES
    return is_text and not _NO_TEXT.match(path.name)


def _bare_name(path: Path) -> str:
    return path.name.removesuffix(".gz")


def read_documents(
    paths: Iterable[Path | str],
    on_bad_text: OnBadText = "refuse",
    counts: ReadCounts | None = None,
) -> Iterator[Document]:
    r"""Yields the documents of a corpus, one after the other, in the order of `list_corpus_files`.

    What a file is, its beginning tells. Plain text: a blank line, or the end of the file, ends a
    document. JSON lines: every row is a document, its fields of text are its lines; so are the
    rows of a table with tabs and a header. One JSON value: see `chinese.task_files`.

    Lines end with LF alone (CRLF is tolerated): U+2028 and U+0085 stand inside lines in real dumps.
    Every line is cleaned. A document of more than `LONGEST_DOCUMENT` characters goes on as another,
    and so does a line.

    Args:
        paths: files, folders, globs; UTF-8, plain or `.gz`.
        on_bad_text: what to do with a line that is not UTF-8, or not such a row.
        counts: filled while reading.

    Raises:
        ValueError: with path and line, for bad text unless it is skipped; for a damaged `.gz`; for
            a path without files.
    """
    if on_bad_text not in ("refuse", "skip"):
        raise ValueError(f"on_bad_text is {on_bad_text!r}: choose refuse or skip")
    counts = counts if counts is not None else ReadCounts()
    for path in list_corpus_files(paths):
        counts.files += 1
        for lines in _Reader(path, on_bad_text, counts).documents():
            for document in _bounded(lines, counts):
                counts.documents += 1
                counts.lines += len(document)
                counts.characters += sum(map(len, document))
                yield document


def _bounded(lines: Iterable[str], counts: ReadCounts) -> Iterator[Document]:
    """Cleans the lines of one document, and cuts it at a line end where it grows too long.

    A line that is too long by itself, as a row of JSON may hold, is cut behind a sentence.
    """
    document: Document = []
    size = 0
    for line in chain.from_iterable(map(_parts_of_line, filter(None, map(clean_line, lines)))):
        if document and size + len(line) > LONGEST_DOCUMENT:
            yield document
            counts.cut_documents += 1
            document, size = [], 0
        document.append(line)
        size += len(line)
    if document:
        yield document


def _parts_of_line(line: str) -> Iterator[str]:
    start, size = 0, len(line)
    while size - start > LONGEST_DOCUMENT:
        limit = start + LONGEST_DOCUMENT
        ends = [match.end() for match in _CUT_AFTER.finditer(line, limit - _CUT_WITHIN, limit)]
        # What stands at the very end may go on with a closing quote.
        cut = next((end for end in reversed(ends) if end < limit), limit)
        yield line[start:cut]
        start = cut
    yield line[start:]


class _Reader:
    """Reads one file."""

    def __init__(self, path: Path, on_bad_text: OnBadText, counts: ReadCounts) -> None:
        self._path, self._on_bad_text, self._counts = path, on_bad_text, counts
        self._number = 0

    def documents(self) -> Iterator[Iterable[str]]:
        """Yields documents as lines that are not cleaned yet, read as they are asked for."""
        try:
            with self._open() as file:
                head = file.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
            kind = recognize(head.decode("utf-8", "replace"), _bare_name(self._path))
            with self._open() as file:
                yield from getattr(self, f"_from_{kind}")(file)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{self._path}:{self._number + 1}: the .gz is truncated or damaged ({error}); "
                "fetch it again"
            ) from error
        except OSError as error:
            raise ValueError(
                f"{self._path}: cannot be read ({error.strerror}); mend that, or leave it out"
            ) from error

    def _open(self) -> IO[bytes]:
        return gzip.open(self._path, "rb") if self._path.suffix == ".gz" else self._path.open("rb")

    def _from_plain(self, file: IO[bytes]) -> Iterator[Iterable[str]]:
        lines = self._decoded(self._in_parts(file))
        for line in lines:
            if clean_line(line):
                yield _until_blank(line, lines)

    def _from_json_lines(self, file: IO[bytes]) -> Iterator[Iterable[str]]:
        for line in self._decoded(self._numbered(file)):
            if line.strip():
                try:
                    lines = row_lines(json.loads(line))
                except json.JSONDecodeError as error:
                    self._refuse_or_count(f"not valid JSON ({error.msg}); mend or skip bad text")
                except (ValueError, RecursionError) as error:
                    self._refuse_or_count(f"{error}; mend or skip bad text")
                else:
                    del line  # a hundred megabytes, perhaps
                    yield lines

    def _from_tsv(self, file: IO[bytes]) -> Iterator[Iterable[str]]:
        lines = self._decoded(self._numbered(file))
        header = next(lines, "")
        columns, width = text_columns(header), header.count("\t")
        if not columns:
            raise ValueError(f"{self._path}:1: no header with a column of text, such as text_a")
        for line in lines:
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) == width + 1:
                yield [cells[column] for column in columns]
            elif line.strip():
                self._refuse_or_count(
                    f"{len(cells)} columns, {width + 1} in the header; mend or skip bad text"
                )

    def _from_json(self, file: IO[bytes]) -> Iterator[Iterable[str]]:
        self._number = 1
        try:
            documents = list(whole_file_documents(json.loads(file.read().decode("utf-8-sig"))))
        except json.JSONDecodeError as error:
            self._number = error.lineno
            self._refuse_or_count(f"not valid JSON ({error.msg})")
        except (ValueError, RecursionError) as error:
            self._refuse_or_count(f"JSON of a form unknown here: {error}")
        else:
            yield from documents

    def _numbered(self, file: IO[bytes]) -> Iterator[bytes]:
        return map(self._counted, file)

    def _counted(self, raw: bytes) -> bytes:
        self._number += 1
        return raw if self._number > 1 else raw.removeprefix(b"\xef\xbb\xbf")

    def _in_parts(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yields lines; one that is very long in parts, cut behind a sentence where there is one.

        A hundred megabytes without a line end are one line to some who write dumps.
        """
        rest, begins_line = b"", True
        while raw := file.readline(_PART_BYTES):
            self._number += begins_line
            if self._number == 1 and begins_line:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            begins_line = raw.endswith(b"\n")
            rest += raw
            if not rest.endswith(b"\n") and len(rest) >= _PART_BYTES:
                cut = _last_cut(rest)
                yield rest[:cut]
                rest = rest[cut:]
            elif rest.endswith(b"\n"):
                yield rest
                rest = b""
        if rest:
            yield rest

    def _decoded(self, lines: Iterable[bytes]) -> Iterator[str]:
        # A generator's frame would hold on to a line while others work on it.
        return filter(_is_text, map(self._decode, lines))

    def _decode(self, raw: bytes) -> str | None:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            self._refuse_or_count(
                f"not UTF-8 (byte {raw[error.start]:#04x} at column {error.start + 1}"
                f"{likely_encoding(raw)}); convert the file, or skip bad text"
            )
            return None

    def _refuse_or_count(self, message: str) -> None:
        if self._on_bad_text == "refuse":
            raise ValueError(f"{self._path}:{self._number}: {message}")
        self._counts.bad_lines += 1


def _is_text(line: str | None) -> TypeGuard[str]:
    return line is not None


def _until_blank(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    for line in lines:
        if not clean_line(line):
            return
        yield line


def _last_cut(raw: bytes) -> int:
    """Gives where to cut a part of a line: not inside a character, best behind a sentence."""
    ends = [match.end() for match in _CUT_BYTES_AFTER.finditer(raw, max(0, len(raw) - _CUT_WITHIN))]
    for end in reversed(ends):
        if end < len(raw):  # see `_parts_of_line`
            return end
    cut = len(raw)
    while cut > len(raw) - 4 and raw[cut - 1] & 0xC0 == 0x80:
        cut -= 1
    return cut - 1 if raw[cut - 1] & 0x80 else cut


def likely_encoding(raw: bytes) -> str:
    """Gives the end of a message, `, probably GB18030`, about bytes that are not UTF-8."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ", probably UTF-16"
    try:
        raw.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return ", probably GB18030"


def fingerprint(document: Document) -> bytes:
    """Gives 16 bytes that tell a document from all others."""
    return hashlib.blake2b(_bytes(document), digest_size=16).digest()


def without_duplicates(
    documents: Iterable[Document], counts: ReadCounts, seen: set[bytes]
) -> Iterator[Document]:
    """Passes each document once; the same lines again are dropped and counted.

    Args:
        documents: of one corpus.
        counts: filled.
        seen: the fingerprints of what has passed, about 100 bytes each; one set for several
            corpora.
    """
    for document in documents:
        mark = fingerprint(document)
        if mark in seen:
            counts.duplicates += 1
            continue
        seen.add(mark)
        yield document


def only_share(
    documents: Iterable[Document], rate: float, seed: int, counts: ReadCounts
) -> Iterator[Document]:
    """Passes a share of the documents, chosen by their content, so the same in every build."""
    for document in documents:
        if rate >= 1 or _hash_fraction(f"share:{seed}:", "\n".join(document)) < rate:
            yield document
        else:
            counts.left_out += 1


def is_held_out(document_text: str, rate: float, seed: int) -> bool:
    """Says whether a document belongs to the held-out share: by its content, so in every build.

    Args:
        document_text: the lines joined by line ends.
        rate: in [0, 1].
        seed: another seed holds out other documents.
    """
    return _hash_fraction(f"held out:{seed}:", document_text) < rate


def _hash_fraction(prefix: str, text: str) -> float:
    data = (prefix + text).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=6).digest(), "big") / (1 << 48)


def _bytes(document: Document) -> bytes:
    return "\n".join(document).encode("utf-8", "surrogatepass")
