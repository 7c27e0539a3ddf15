"""How much of given texts stands in a corpus: shared shingles of 20 characters.

A shingle is 20 letters, digits or Han characters in a row. Blanks, line ends and punctuation are
dropped first, case, width and accents folded: copies of a text differ in just these, and a guard
should find them. A shingle is kept as a 64-bit hash: memory holds the given texts alone (17 bytes a
character), however large the corpus is. Another shingle is taken for one of n with a chance of
n / 2^64.
"""

import json
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chinese.characters import NUM_CODE_POINTS, code_points

SHINGLE_CHARACTERS = 20
DOCUMENT_END = "\0"
"""No shingle goes across it. Unlike a line end, which may stand anywhere in a copy."""

_STREAM_CHARACTERS = 1 << 20
_FILTER_BITS = 24
_ODD = np.uint64(0x9E3779B97F4A7C15)
_NO_TEXT = ("label", "id", "idx", "genre", "level", "version")


class FileOverlap(NamedTuple):
    """What of one file stands in the corpus.

    Fields:
      file: the file.
      num_texts: all its texts.
      num_short: texts of fewer than 20 letters: nothing can be said about them.
      num_shared: texts with at least one shingle in the corpus.
      num_covered: texts all of whose shingles stand there.
      worst: (share of shingles found, text), the texts with the most shingles found first.
    """

    file: str
    num_texts: int
    num_short: int
    num_shared: int
    num_covered: int
    worst: tuple[tuple[float, str], ...]

    @property
    def num_comparable(self) -> int:
        """Texts that are long enough."""
        return self.num_texts - self.num_short


def read_texts(path: Path | str) -> list[str]:
    """Gives the texts of a file of examples; labels and ids are left out.

    `.json`, `.jsonl`: one value for the whole file, or one a line; every string in it is a text,
    at any depth, unless its key is a label or an id. `.tsv`: the columns under a header, likewise.
    Else every line is a text.

    Raises:
        ValueError: for a missing file, text that is not UTF-8, JSON that cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file to compare against")
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 ({error.reason}, byte {error.start})") from None
    if path.suffix in (".json", ".jsonl"):
        found = [text for value in _json_values(path, content) for text in _strings(value)]
    elif path.suffix == ".tsv":
        header, *rows = [line.rstrip("\r").split("\t") for line in content.split("\n")]
        found = [
            cell
            for row in rows
            for name, cell in zip(header, row, strict=False)
            if not _is_no_text(name)
        ]
    else:
        found = content.split("\n")
    stripped = (text.strip() for text in found)
    return [text for text in stripped if text]


def _json_values(path: Path, content: str) -> list[Any]:
    try:
        return [json.loads(content)]
    except ValueError:
        pass
    values = []
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path}:{number}: not JSON ({error})") from None
    return values


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if not _is_no_text(key):
                yield from _strings(entry)


def _is_no_text(name: str) -> bool:
    """Says whether a field holds no text: label, label_desc, label0, id, prem_id …

    >>> [name for name in ("label0", "label_desc", "prem_id", "sentence1") if not _is_no_text(name)]
    ['sentence1']
    """
    name = name.strip().lower()
    return (
        name.rstrip("0123456789") in _NO_TEXT or name.startswith("label_") or name.endswith("_id")
    )


@cache
def _folded_letters() -> np.ndarray:
    """Gives uint32 [0x110000]: what a code point counts as; 0 = dropped.

    Ａ, A, a, á and à count as a; punctuation, blanks, marks and symbols are dropped.
    """
    table = np.zeros(NUM_CODE_POINTS, dtype=np.uint32)
    for code_point in range(NUM_CODE_POINTS):
        folded = unicodedata.normalize("NFKC", chr(code_point)).lower()
        # What folds to several letters (㎏, ﬁ) counts as the first: the same on both sides.
        letter = next((c for c in folded if unicodedata.category(c)[0] in "LN"), None)
        if letter is not None:
            base, *marks = unicodedata.normalize("NFD", letter)
            is_accented = all(unicodedata.category(mark) == "Mn" for mark in marks)
            table[code_point] = ord(base if is_accented else letter)
    table[ord(DOCUMENT_END)] = NUM_CODE_POINTS
    table.flags.writeable = False
    return table


def _letters(text: str) -> np.ndarray:
    """Gives uint32 [n], n at most len(text)."""
    folded = _folded_letters()[code_points(text)]
    return folded[folded > 0]


def _shingles(letters: np.ndarray) -> np.ndarray:
    """Gives uint64 [n - 19], the hash of every 20 letters in a row; [0] for fewer than 20."""
    count = len(letters) - SHINGLE_CHARACTERS + 1
    if count <= 0:
        return np.zeros(0, dtype=np.uint64)
    mixed = _mix(letters.astype(np.uint64))
    hashes = np.zeros(count, dtype=np.uint64)
    for place in range(SHINGLE_CHARACTERS):
        hashes *= _ODD
        hashes += mixed[place : place + count]
    return _mix(hashes)


def _shingles_of_each(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Gives the shingles of all texts, uint64 [S], and how many each text has, int64 [n]."""
    # One pass over all of them: most texts are short, and a pass has its price.
    joined = DOCUMENT_END.join(text.replace(DOCUMENT_END, "") for text in texts)
    letters = _letters(joined)
    hashes = _shingles(letters)
    ends_before = np.cumsum(letters == NUM_CODE_POINTS)
    text_of_letter = np.concatenate([[0], ends_before])[: len(letters)]
    first, last = text_of_letter[: len(hashes)], ends_before[SHINGLE_CHARACTERS - 1 :]
    is_inside = first == last
    return hashes[is_inside], np.bincount(first[is_inside], minlength=len(texts)).astype(np.int64)


def _mix(values: np.ndarray) -> np.ndarray:
    """Spreads every bit over all 64; one to one. Source: Steele et al. 2014, SplitMix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class Overlap:
    """Finds the shingles of given texts in a corpus that flows by once.

    Args:
        files: name and texts of each.

    >>> overlap = Overlap([("dev.txt", ["一二三四五六七八九十，甲乙丙丁戊己庚辛壬癸。", "短"])])
    >>> overlap.watch(["……九十一二三四五六七", "八九十甲乙丙丁戊己庚辛壬癸子", DOCUMENT_END])
    >>> (result,) = overlap.results()
    >>> result.num_texts, result.num_short, result.num_shared, result.num_covered
    (2, 1, 1, 1)
    """

    def __init__(self, files: Iterable[tuple[str, list[str]]]) -> None:
        self._files = [(name, texts) for name, texts in files]
        parts = [_shingles_of_each(texts) for _, texts in self._files]
        every = np.concatenate([np.zeros(0, dtype=np.uint64), *(hashes for hashes, _ in parts)])
        sizes = np.concatenate([np.zeros(0, dtype=np.int64), *(sizes for _, sizes in parts)])
        self._ends = np.cumsum(sizes)
        self._known, self._places = np.unique(every, return_inverse=True)
        self._is_found = np.zeros(len(self._known), dtype=bool)
        # Nearly all of a corpus is unknown: a small table turns most of it away.
        self._shift = np.uint64(64 - _FILTER_BITS)
        self._may_be_known = np.zeros(1 << _FILTER_BITS, dtype=bool)
        self._may_be_known[self._known >> self._shift] = True

    def watch(self, texts: Iterable[str]) -> None:
        """Looks through a corpus: its texts in order, `DOCUMENT_END` where a document ends.

        Joined, the texts of a document are the document; they may be cut anywhere.
        """
        tail = np.zeros(0, dtype=np.uint32)
        waiting: list[str] = []
        size = 0
        for text in texts:
            waiting.append(text)
            size += len(text)
            if size >= _STREAM_CHARACTERS:
                tail = self._look_through(tail, "".join(waiting))
                waiting, size = [], 0
        self._look_through(tail, "".join(waiting))

    def _look_through(self, tail: np.ndarray, text: str) -> np.ndarray:
        letters = np.concatenate([tail, _letters(text)])
        hashes = _shingles(letters)
        hashes = hashes[self._may_be_known[hashes >> self._shift]]
        places = np.searchsorted(self._known, hashes)
        is_known = places < len(self._known)
        is_known[is_known] = self._known[places[is_known]] == hashes[is_known]
        self._is_found[places[is_known]] = True
        return letters[max(0, len(letters) - SHINGLE_CHARACTERS + 1) :]

    def results(self, num_worst: int = 3) -> list[FileOverlap]:
        """Gives what was found so far, file by file."""
        found_before = np.concatenate([[0], np.cumsum(self._is_found[self._places])])
        ends = np.concatenate([[0], self._ends])
        num_shingles = np.diff(ends)
        num_found = np.diff(found_before[ends])
        results, first = [], 0
        for name, texts in self._files:
            rows = slice(first, first + len(texts))
            first += len(texts)
            results.append(_summary(name, texts, num_shingles[rows], num_found[rows], num_worst))
        return results


def _summary(
    name: str, texts: list[str], num_shingles: np.ndarray, num_found: np.ndarray, num_worst: int
) -> FileOverlap:
    order = np.argsort(-num_found, kind="stable")[:num_worst].tolist()
    return FileOverlap(
        name,
        len(texts),
        int((num_shingles == 0).sum()),
        int((num_found > 0).sum()),
        int(((num_found == num_shingles) & (num_shingles > 0)).sum()),
        tuple(
            (float(num_found[row] / num_shingles[row]), texts[row])
            for row in order
            if num_found[row]
        ),
    )
