"""What a vocabulary holds, and what it does to a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from chinese.characters import is_han
from chinese.demo_corpus import demo_documents
from chinese.documents import read_documents
from chinese.vocab import (
    CONTINUATION,
    SPECIAL_TOKENS,
    Vocabulary,
    VocabularyCheck,
    check_vocabulary,
    load_vocabulary,
)
from electra_tf.workflows.records import DEMO


class VocabularyReport(NamedTuple):
    """What was found.

    Fields:
      facts: name → value.
      warnings: what was tolerated while reading.
      text: what it does to the text; None where none was given.
    """

    facts: dict[str, str | int]
    warnings: tuple[str, ...]
    text: VocabularyCheck | None


def report_vocabulary(
    path: str | Path,
    corpus: list[str],
    progress: Callable[[str, int, int | None], None],
    lower_case: bool = True,
    strip_accents: bool = True,
    num_worst: int = 20,
) -> VocabularyReport:
    """Checks a vocabulary, and counts on a text what would be [UNK].

    Args:
      path: a `vocab.txt`, or a SentencePiece `.model`.
      corpus: files, folders, globs, `demo`; empty for no text.
      progress: told the stage, characters done, and None.
      lower_case, strip_accents: as the tokenizer will fold.
      num_worst: how many unknown words to name.

    Returns:
      What was found.

    Raises:
      ValueError: with path and line, whatever makes the vocabulary useless; see `load_vocabulary`.
    """
    vocabulary = load_vocabulary(path)
    text = None
    if corpus:
        lines = _lines(corpus, progress)
        text = check_vocabulary(vocabulary, lines, lower_case, strip_accents, num_worst)
    return VocabularyReport(_facts(vocabulary, lower_case), vocabulary.warnings, text)


def _facts(vocabulary: Vocabulary, lower_case: bool) -> dict[str, str | int]:
    tokens = vocabulary.tokens
    facts: dict[str, str | int] = {
        "kind": "SentencePiece" if vocabulary.sentencepiece_model else "WordPiece",
        "tokens": vocabulary.size,
        "special tokens": ", ".join(f"{name} {vocabulary.ids[name]}" for name in SPECIAL_TOKENS),
        "Han characters": sum(len(token) == 1 and is_han(token) for token in tokens),
        "## pieces": sum(token.startswith(CONTINUATION) for token in tokens),
        "[unused] rows": sum(token.startswith("[unused") for token in tokens),
        "sha256": vocabulary.sha256,
    }
    if lower_case:
        upper = [token for token in tokens if token != token.lower() and not token.startswith("[")]
        facts["with capitals (never met)"] = len(upper)
    return facts


def _lines(corpus: list[str], progress: Callable[[str, int, int | None], None]) -> Iterator[str]:
    documents = demo_documents() if corpus == [DEMO] else read_documents(corpus)
    done = 0
    for document in documents:
        yield from document
        done += sum(map(len, document))
        progress("text checked", done, None)
