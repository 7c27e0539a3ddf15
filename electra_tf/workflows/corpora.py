"""The corpora of a build: named, weighed, mixed, each document once."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from chinese.demo_corpus import demo_documents
from chinese.documents import (
    Document,
    OnBadText,
    ReadCounts,
    list_corpus_files,
    only_share,
    read_documents,
    without_duplicates,
)

DEMO = "demo"
"""The name of the embedded corpus where a path may stand."""

Progress = Callable[[str, int, int | None], None]
"""Takes the stage, the characters done, and the characters in all where that is known."""


class Source(NamedTuple):
    """One corpus: `name` is a file, folder, glob or `demo`; no `weight` = taken whole."""

    name: str
    weight: float | None


class Share(NamedTuple):
    """What a corpus gives to a mixture: `rate` of its documents, chosen by their content."""

    name: str
    weight: float
    characters: int
    rate: float


class Corpus:
    """The documents of one or several corpora, each document once, in an order without chance.

    Attributes:
        sources: as given.
        paths: the files, with their weight where they have one.

    Args:
        corpus: files, folders, globs or `demo`; all of them with a weight (`a.txt:0.7`) or none.
        on_bad_text: what to do with lines that cannot be read.
        seed: of the choice where corpora are mixed by weight.

    Raises:
        ValueError: a path leads to no file, or a weight is wrong.
    """

    def __init__(self, corpus: Sequence[str], on_bad_text: OnBadText, seed: int):
        self.sources = [_parse(entry) for entry in corpus]
        weighed = [source for source in self.sources if source.weight is not None]
        if weighed and len(weighed) < len(self.sources):
            plain = next(source for source in self.sources if source.weight is None)
            raise ValueError(
                f"corpus {plain.name} has no weight, {weighed[0].name} has one; "
                f"give all of them one, as a.txt:0.7, or none"
            )
        self._files = [_files(source.name) for source in self.sources]
        self.paths = [
            _readable(file) + ("" if source.weight is None else f":{source.weight:g}")
            for source, files in zip(self.sources, self._files, strict=True)
            for file in files
        ]
        self._on_bad_text, self._seed = on_bad_text, seed
        self._rates = [1.0] * len(self.sources)

    def mix(self, progress: Progress) -> tuple[Share, ...]:
        """Reads all text once to find the share of each corpus; nothing to do without weights.

        A weight is a share of the characters. No text is repeated: the corpus that is scarcest for
        its weight is taken whole, of the others so many documents that the weights come true.

        Raises:
            ValueError: a corpus holds no text.
        """
        if self.sources[0].weight is None:
            return ()
        characters = [0] * len(self.sources)
        for place, document in self._each(ReadCounts(), self._rates):
            characters[place] += sum(map(len, document))
            progress("corpora weighed", sum(characters), None)
        weights = [float(source.weight or 0) for source in self.sources]
        for source, count in zip(self.sources, characters, strict=True):
            if not count:
                raise ValueError(f"corpus {source.name}: holds no text of its own to mix")
        scale = min(count / weight for count, weight in zip(characters, weights, strict=True))
        self._rates = [
            min(1.0, scale * weight / count)
            for count, weight in zip(characters, weights, strict=True)
        ]
        names = [source.name for source in self.sources]
        return tuple(map(Share, names, weights, characters, self._rates))

    def documents(self, counts: ReadCounts) -> Iterator[Document]:
        """Yields the documents; `counts` is filled."""
        for _, document in self._each(counts, self._rates):
            yield document

    def _each(self, counts: ReadCounts, rates: Sequence[float]) -> Iterator[tuple[int, Document]]:
        seen: set[bytes] = set()
        for place, files in enumerate(self._files):
            documents = _demo(counts) if files == [DEMO] else self._read(files, counts)
            unique = without_duplicates(documents, counts, seen)
            for document in only_share(unique, rates[place], self._seed, counts):
                yield place, document

    def _read(self, files: Sequence[str | Path], counts: ReadCounts) -> Iterator[Document]:
        return read_documents(files, self._on_bad_text, counts)


def told_documents(
    text: Corpus, counts: ReadCounts, stage: str, progress: Progress, total: int | None = None
) -> Iterator[Document]:
    """The documents of a corpus, each told to `progress`; `counts` is filled."""
    for document in text.documents(counts):
        progress(stage, counts.characters, total)
        yield document


def _parse(entry: str) -> Source:
    name, colon, text = entry.rpartition(":")
    if not colon or Path(entry).exists():
        return Source(entry, None)
    try:
        weight = float(text)
    except ValueError:
        return Source(entry, None)
    if not (math.isfinite(weight) and weight > 0):
        raise ValueError(f"corpus {entry}: the weight is {text}; give a number above 0")
    return Source(name, weight)


def _files(name: str) -> list[str | Path]:
    return [DEMO] if name == DEMO else list(list_corpus_files([name]))


def _readable(path: str | Path) -> str:
    """A path as text that can be written as UTF-8, whatever bytes the file system has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _demo(counts: ReadCounts) -> Iterator[Document]:
    counts.files += 1
    for document in demo_documents():
        counts.documents += 1
        counts.lines += len(document)
        counts.characters += sum(map(len, document))
        yield document
