"""How well a segmenter finds the words that people have marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from chinese.segmentation import (
    SegmentationScore,
    SegmenterKind,
    evaluate_segmenter,
    make_segmenter,
)

_BETWEEN_WORDS = re.compile("[ \t\u3000]+")  # a no-break space stands inside a word


class SegmentationResult(NamedTuple):
    """The score on one file.

    Fields:
      file: the gold file.
      sentences: its sentences.
      words: its words.
      score: precision, recall, F1.
    """

    file: str
    sentences: int
    words: int
    score: SegmentationScore


def evaluate_segmentation(
    gold: Sequence[str | Path],
    segmenter: SegmenterKind,
    user_dictionaries: Sequence[str | Path] = (),
) -> tuple[str, list[SegmentationResult]]:
    """Scores a segmenter against files of gold words.

    Args:
      gold: files: a sentence a line, words separated by blanks; or `.conllu`.
      segmenter: its kind.
      user_dictionaries: files in jieba's format.

    Returns:
      Name and version of the segmenter, and the results, file by file.

    Raises:
      ValueError: a missing file, one that is not UTF-8, one without words; see `make_segmenter`.
    """
    sentences = {str(path): read_gold_words(path) for path in gold}
    chosen = make_segmenter(segmenter, [Path(path) for path in user_dictionaries])
    results = [
        SegmentationResult(
            name, len(lines), sum(map(len, lines)), evaluate_segmenter(chosen, lines)
        )
        for name, lines in sentences.items()
    ]
    return f"{chosen.name} {chosen.version}", results


def read_gold_words(path: str | Path) -> list[list[str]]:
    """Gives the sentences of a file as lists of words.

    Raises:
      ValueError: a missing file, one that is not UTF-8, one without words.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"gold words {path}: no such file")
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"gold words {path}: not UTF-8 ({error.reason}); convert it") from None
    lines = [line.rstrip("\r") for line in lines]
    if path.suffix == ".conllu":
        sentences = _conllu_sentences(path, lines)
    else:
        sentences = [[w for w in _BETWEEN_WORDS.split(line) if w] for line in lines]
    sentences = [words for words in sentences if words]
    if not sentences:
        raise ValueError(f"gold words {path}: holds no words; separate them by blanks")
    return sentences


def _conllu_sentences(path: Path, lines: list[str]) -> list[list[str]]:
    sentences: list[list[str]] = [[]]
    for number, line in enumerate(lines, start=1):
        if not line:
            sentences.append([])
        elif not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) < 2:
                raise ValueError(f"{path}:{number}: no CoNLL-U line: columns are separated by tabs")
            # 3-4 is a span over words that follow, 5.1 a word that is not written.
            if columns[0].isdecimal():
                sentences[-1].append(columns[1])
    return sentences
