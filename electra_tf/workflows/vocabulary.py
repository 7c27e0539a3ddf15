"""A corpus into a vocabulary, and what records say of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from chinese.documents import Document, ReadCounts
from chinese.vocab import Vocabulary, build_sentencepiece, build_vocabulary, save_vocabulary
from electra_tf.config import RecordsConfig
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.workflows.corpora import Corpus, Progress, told_documents

VocabularyKind = Literal["wordpiece", "sentencepiece"]


def make_vocabulary(
    config: RecordsConfig,
    corpus: Sequence[str],
    out: str | Path,
    progress: Progress,
    kind: VocabularyKind = "wordpiece",
    character_coverage: float | None = None,
) -> Vocabulary:
    """Builds a vocabulary from a corpus and writes it.

    Args:
      config: size and folding.
      corpus: files, folders, globs, or `demo`; with or without weights.
      out: the file to write; a SentencePiece model is told by `.model` at its end.
      progress: told after every document.
      kind: WordPiece, or a SentencePiece model, which is trained on some ten million characters.
      character_coverage: in (0, 1], the share of the text that single characters must cover; None =
        all of it, or 0.9995 for SentencePiece. Rarer characters become [UNK].

    Returns:
      The vocabulary.

    Raises:
      ValueError: no such corpus, an empty one, text that cannot be read, a name that tells the
        other kind, or the file exists.
    """
    out = Path(out)
    if out.exists():
        raise ValueError(f"{out}: exists already; give another --out, or remove it")
    if (out.suffix == ".model") != (kind == "sentencepiece"):
        raise ValueError(
            f"{out}: the name of a SentencePiece model ends with .model, that of a WordPiece "
            f"vocabulary does not (vocab.txt); change --out or --kind"
        )
    text = Corpus(corpus, "refuse", config.seed)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"{out.parent}: cannot be made ({error.strerror}); give another --out"
        ) from error
    text.mix(progress)
    told = {"wordpiece": "words counted", "sentencepiece": "text read, then trained on for minutes"}
    documents = told_documents(text, ReadCounts(), told[kind], progress)
    vocabulary = vocabulary_of(config, documents, text, kind, character_coverage)
    try:
        save_vocabulary(vocabulary, out)
    except OSError as error:
        raise ValueError(f"{out}: cannot be written ({error.strerror})") from error
    return vocabulary


def vocabulary_of(
    config: RecordsConfig,
    documents: Iterable[Document],
    text: Corpus,
    kind: VocabularyKind = "wordpiece",
    character_coverage: float | None = None,
) -> Vocabulary:
    """The vocabulary of some documents; `text` names them in errors.

    Raises:
      ValueError: there is no text.
    """
    lines = (line for document in documents for line in document)
    first = next(lines, None)
    if first is None:
        raise ValueError(f"corpus {' '.join(text.paths[:3])}: holds no text")
    lines = (line for part in ([first], lines) for line in part)
    options = {} if character_coverage is None else {"character_coverage": character_coverage}
    build = build_sentencepiece if kind == "sentencepiece" else build_vocabulary
    return build(lines, config.vocab_size, config.lower_case, config.strip_accents, **options)


def vocabulary_file_name(vocabulary: Vocabulary) -> str:
    """The name of a vocabulary in a folder of records."""
    return "spiece.model" if vocabulary.sentencepiece_model else "vocab.txt"


def vocabulary_facts(vocabulary: Vocabulary) -> VocabularyFacts:
    """What a manifest says of the vocabulary in its folder."""
    return VocabularyFacts(
        file=vocabulary_file_name(vocabulary),
        size=vocabulary.size,
        sha256=vocabulary.sha256,
        unk_id=vocabulary.unk_id,
        cls_id=vocabulary.cls_id,
        sep_id=vocabulary.sep_id,
        mask_id=vocabulary.mask_id,
    )
