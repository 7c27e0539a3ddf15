"""Vocabularies of tokens: load, save, build and check; WordPiece, with SentencePiece beside it."""

import hashlib
import io
import os
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from chinese.characters import DELETED, SPACE, WORD, character_classes, code_points

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUATION = "##"


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a model; a token's id is its place.

    Attributes:
        tokens: in the order of their ids.
        warnings: what was tolerated while loading; not part of the vocabulary's identity.
        sentencepiece_model: the model whose pieces the tokens are; empty for WordPiece.

    Raises:
        ValueError: for a missing special token, [PAD] not at 0, an empty or a repeated token.
    """

    tokens: tuple[str, ...]
    warnings: tuple[str, ...] = field(default=(), compare=False)
    sentencepiece_model: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        _check_tokens(self.tokens, lambda index: f"vocabulary, id {index}")

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Token to id."""
        return MappingProxyType({token: index for index, token in enumerate(self.tokens)})

    @property
    def size(self) -> int:
        """The number of tokens."""
        return len(self.tokens)

    @property
    def pad_id(self) -> int:
        """The id of [PAD], always 0."""
        return self.ids["[PAD]"]

    @property
    def unk_id(self) -> int:
        """The id of [UNK]."""
        return self.ids["[UNK]"]

    @property
    def cls_id(self) -> int:
        """The id of [CLS]."""
        return self.ids["[CLS]"]

    @property
    def sep_id(self) -> int:
        """The id of [SEP]."""
        return self.ids["[SEP]"]

    @property
    def mask_id(self) -> int:
        """The id of [MASK]."""
        return self.ids["[MASK]"]

    @cached_property
    def sha256(self) -> str:
        """The hash of the canonical file: one token a line, LF after every line; or the model."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def content(self) -> bytes:
        """The bytes of the canonical file."""
        if self.sentencepiece_model:
            return self.sentencepiece_model
        return "".join(f"{token}\n" for token in self.tokens).encode("utf-8")


def readable(token: str) -> str:
    """A token as people read it: without ## and without SentencePiece's blank.

    >>> readable("##able"), readable("▁今天"), readable("##")
    ('able', '今天', '##')
    """
    return token.removeprefix(CONTINUATION).replace("▁", " ").strip() or token


def _check_tokens(tokens: tuple[str, ...], place) -> None:
    first: dict[str, int] = {}
    for index, token in enumerate(tokens):
        if not token or "\n" in token or "\0" in token:
            raise ValueError(
                f"{place(index)}: token {token!r} is blank or holds a line end or NUL; remove it"
            )
        if token in first:
            raise ValueError(
                f"{place(index)}: {token!r} stands there a second time (first: "
                f"{place(first[token])}); remove one"
            )
        first[token] = index
    missing = [token for token in SPECIAL_TOKENS if token not in first]
    if missing:
        raise ValueError(f"{place(len(tokens))}: no {', '.join(missing)}; a model needs all five")
    if first["[PAD]"] != 0:
        raise ValueError(
            f"{place(first['[PAD]'])}: [PAD] has id {first['[PAD]']}; it must be the first line, "
            "since padding is 0"
        )


def load_vocabulary(path: Path | str) -> Vocabulary:
    r"""Reads a WordPiece vocabulary, one token a line, id = line number - 1.

    Lines are split on LF alone: the standard Chinese vocabulary has rows that are Unicode line
    separators. A byte-order mark, CRLF line ends and blanks around a token are tolerated and told
    in `warnings`. A path that ends with `.model` is read as a SentencePiece model.

    Raises:
        ValueError: with path and line, for a missing file, bytes that are not UTF-8, blank or
            repeated lines, missing special tokens, [PAD] elsewhere than in line 1.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"vocabulary {path} does not exist: give a vocab.txt, one token a line")
    return parse_vocabulary(path.read_bytes(), path)


def parse_vocabulary(content: bytes, path: Path | str) -> Vocabulary:
    """Reads the bytes of a vocabulary, as `load_vocabulary` does; `path` is where they are from."""
    path = Path(path)
    if path.suffix == ".model":
        return _sentencepiece_vocabulary(content, str(path))
    lines = content.split(b"\n")
    warnings = []
    if lines[0].startswith(b"\xef\xbb\xbf"):
        lines[0] = lines[0][3:]
        warnings.append(f"{path}: byte-order mark removed")
    if lines[-1] == b"":
        lines.pop()
    if any(line.endswith(b"\r") for line in lines):
        lines = [line.removesuffix(b"\r") for line in lines]
        warnings.append(f"{path}: CRLF line ends read as LF")
    tokens = tuple(_decode(line, path, number) for number, line in enumerate(lines, start=1))
    stripped = tuple(token.strip(" \t") for token in tokens)
    if stripped != tokens:
        warnings.append(f"{path}: blanks around tokens removed")
    _check_tokens(stripped, lambda index: f"{path}:{index + 1}")
    return Vocabulary(stripped, tuple(warnings))


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}:{number}: not UTF-8 (byte {line[error.start]:#04x}); convert the file"
        ) from error


def save_vocabulary(vocabulary: Vocabulary, path: Path | str) -> None:
    """Writes the canonical file under a temporary name, then renames it into place.

    That is a vocab.txt, or the SentencePiece model as it is.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(vocabulary.content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def fold(text: str, lower_case: bool = True, strip_accents: bool = True) -> str:
    """Gives the text as BERT sees it before WordPiece; the tokenizer's graph does the same.

    Accents are stripped only together with lower-casing, as in BERT.
    """
    if not lower_case:
        return text
    text = text.lower()
    if not strip_accents:
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


def count_words(
    lines: Iterable[str], lower_case: bool = True, strip_accents: bool = True
) -> tuple[Counter[str], Counter[str]]:
    """Counts, in folded text, single characters and the words BERT would hand to WordPiece.

    Returns:
        The characters that stand alone (Han and punctuation), and the words (all else).
    """
    alone: Counter[str] = Counter()
    words: Counter[str] = Counter()
    pattern = _word_pattern()
    for line in lines:
        for match in pattern.finditer(fold(_without_deleted(line), lower_case, strip_accents)):
            (words if match.lastgroup == "word" else alone)[match.group()] += 1
    return alone, words


def _without_deleted(line: str) -> str:
    kinds = character_classes()[code_points(line)]
    if not (kinds == DELETED).any():
        return line
    return "".join(c for c, kind in zip(line, kinds, strict=True) if kind != DELETED)


@cache
def _word_pattern() -> re.Pattern[str]:
    classes = character_classes()
    return re.compile(f"(?P<word>[{_ranges(classes == WORD)}]+)|[^{_ranges(classes == SPACE)}]")


def _ranges(chosen: np.ndarray) -> str:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.view(np.int8), [0]])))
    return "".join(
        f"{re.escape(chr(first))}-{re.escape(chr(last - 1))}"
        for first, last in edges.reshape(-1, 2).tolist()
    )


def build_vocabulary(
    lines: Iterable[str],
    size: int,
    lower_case: bool = True,
    strip_accents: bool = True,
    min_count: int = 1,
    character_coverage: float = 1.0,
    num_unused: int = 0,
    longer_rate: float = 0.3,
) -> Vocabulary:
    """Builds a WordPiece vocabulary for Chinese; the same text gives the same vocabulary.

    First the five special tokens, `[unused1]` and its kin, then all single characters by frequency
    (those inside Latin and digit words also as `##` pieces, so that a rare word falls into letters,
    not into [UNK]), then whole words and `##` pieces by frequency.

    Args:
        lines: text, any lines.
        size: the number of tokens at most; a small corpus may give fewer.
        lower_case, strip_accents: as the tokenizer will fold.
        min_count: characters and pieces seen less often stay out.
        character_coverage: in (0, 1]; characters are taken until they cover this share of the text.
        num_unused: how many `[unusedN]` rows to keep free for later words.
        longer_rate: in [0, 1]; at least this share of `size` is kept for pieces of two and more
            characters, if there are so many; they take what single characters leave, too.

    Raises:
        ValueError: for a size with no room for characters, or no text.
    """
    reserved = [*SPECIAL_TOKENS, *(f"[unused{number}]" for number in range(1, num_unused + 1))]
    if size <= len(reserved):
        raise ValueError(f"vocabulary size is {size}: give more than the {len(reserved)} reserved")
    alone, words = count_words(lines, lower_case, strip_accents)
    if not alone and not words:
        raise ValueError("no text to build a vocabulary from: the lines are empty")
    singles = alone + _pieces_of_one(words)
    ranked = _ranked(singles, min_count)
    ranked = ranked[: _covering(ranked, character_coverage)]
    longer = _ranked(_longer_pieces(words), max(min_count, 2))
    room = size - len(reserved)
    num_longer = min(len(longer), int(room * longer_rate))
    ranked = ranked[: room - num_longer]
    chosen = ranked + longer[: room - len(ranked)]
    return Vocabulary((*reserved, *(piece for piece, _ in chosen)))


def _pieces_of_one(words: Counter[str]) -> Counter[str]:
    pieces: Counter[str] = Counter()
    for word, count in words.items():
        pieces[word[0]] += count
        for character in word[1:]:
            pieces[CONTINUATION + character] += count
    return pieces


def _longer_pieces(words: Counter[str], max_characters: int = 12) -> Counter[str]:
    """Scores beginnings, whole words and inner pieces by how many tokens they would save.

    A piece that always goes on in the same way is left out: the longer one does its work.
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        if count < 2 or len(word) > 2 * max_characters:
            continue
        for start in range(len(word)):
            prefix = CONTINUATION if start else ""
            for end in range(start + 2, min(len(word), start + max_characters) + 1):
                counts[prefix + word[start:end]] += count
    going_on: Counter[str] = Counter()
    for piece, count in counts.items():
        going_on[piece[:-1]] = max(going_on[piece[:-1]], count)
    scores = Counter()
    for piece, count in counts.items():
        if going_on[piece] < count:
            scores[piece] = count * (len(piece.removeprefix(CONTINUATION)) - 1)
    return scores


def _ranked(counts: Counter[str], min_count: int) -> list[tuple[str, int]]:
    kept = [(piece, count) for piece, count in counts.items() if count >= min_count]
    return sorted(kept, key=lambda entry: (-entry[1], entry[0]))


def _covering(ranked: list[tuple[str, int]], coverage: float) -> int:
    if coverage >= 1:
        return len(ranked)
    counts = np.cumsum([count for _, count in ranked])
    return int(np.searchsorted(counts, coverage * counts[-1])) + 1 if len(ranked) else 0


class VocabularyCheck(NamedTuple):
    """What a vocabulary does to a text; `worst` are the unknown words, most frequent first."""

    num_tokens: int
    num_unknown: int
    unknown_rate: float
    worst: tuple[tuple[str, int], ...]


def check_vocabulary(
    vocabulary: Vocabulary,
    lines: Iterable[str],
    lower_case: bool = True,
    strip_accents: bool = True,
    num_worst: int = 20,
) -> VocabularyCheck:
    """Counts the tokens that would be [UNK] on a text, and the words behind most of them."""
    if vocabulary.sentencepiece_model:
        num_tokens, unknown = _sentencepiece_unknown(vocabulary, lines, lower_case, strip_accents)
        return _checked(num_tokens, unknown, num_worst)
    alone, words = count_words(lines, lower_case, strip_accents)
    num_tokens, unknown = 0, Counter()
    for word, count in (alone + words).items():
        pieces = word_pieces(word, vocabulary.ids)
        num_tokens += count * max(len(pieces), 1)
        if not pieces:
            unknown[word] = count
    return _checked(num_tokens, unknown, num_worst)


def _checked(num_tokens: int, unknown: Counter[str], num_worst: int) -> VocabularyCheck:
    num_unknown = sum(unknown.values())
    rate = num_unknown / num_tokens if num_tokens else 0.0
    return VocabularyCheck(num_tokens, num_unknown, rate, tuple(_ranked(unknown, 1)[:num_worst]))


def word_pieces(word: str, ids: Mapping[str, int], max_characters: int = 200) -> list[str]:
    """Gives the longest-match-first pieces of one folded word; none when it is [UNK] for BERT."""
    if len(word) > max_characters:
        return []
    pieces, start = [], 0
    while start < len(word):
        prefix = CONTINUATION if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in ids:
                pieces.append(prefix + word[start:end])
                start = end
                break
        else:
            return []
    return pieces


def build_sentencepiece(
    lines: Iterable[str],
    size: int,
    lower_case: bool = True,
    strip_accents: bool = True,
    character_coverage: float = 0.9995,
    max_characters: int = 10_000_000,
) -> Vocabulary:
    """Trains a unigram SentencePiece model; the same text gives the same model.

    The text is folded as the tokenizer will fold it, so the model itself normalises nothing. Ten
    million characters take some three minutes and 600 MB.

    Args:
        lines: text, any lines.
        size: the number of tokens at most; a small corpus may give fewer.
        lower_case, strip_accents: as the tokenizer will fold.
        character_coverage: in (0, 1]; rarer characters are left to [UNK].
        max_characters: of a longer text only a sample of about half to all so many is used.

    Raises:
        ValueError: when the size is too small for the characters, or there is no text.
    """
    import sentencepiece

    sample = _sample(lines, max_characters)
    folded = (
        " ".join(fold(_without_deleted(x), lower_case, strip_accents).split()) for x in sample
    )
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(folded),
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=character_coverage,
            pad_id=0,
            unk_id=1,
            bos_id=-1,
            eos_id=-1,
            pad_piece=SPECIAL_TOKENS[0],
            unk_piece=SPECIAL_TOKENS[1],
            control_symbols=list(SPECIAL_TOKENS[2:]),
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            max_sentence_length=1 << 24,  # bytes; longer lines would be left out in silence
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ValueError(
            f"SentencePiece cannot train {size} tokens on this text: {error}"
        ) from error
    return _sentencepiece_vocabulary(model.getvalue(), "trained model")


def _sample(lines: Iterable[str], max_characters: int) -> list[str]:
    """Lines by lot, the same of the same text; memory never holds more of them.

    Whenever there are too many, those with the upper half of the lots go.
    """
    rng, rate = random.Random(0), 1.0
    kept: list[tuple[float, str]] = []
    size = 0
    for line in lines:
        lot = rng.random()
        if lot < rate:
            kept.append((lot, line))
            size += len(line)
        while size > max_characters and len(kept) > 1:
            rate /= 2
            kept = [entry for entry in kept if entry[0] < rate]
            size = sum(len(line) for _, line in kept)
    return [line for _, line in kept]


def _load_sentencepiece(model: bytes):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor


def _sentencepiece_vocabulary(model: bytes, name: str) -> Vocabulary:
    try:
        processor = _load_sentencepiece(model)
    except RuntimeError as error:
        raise ValueError(f"{name}: not a SentencePiece model ({error})") from error
    tokens = tuple(processor.IdToPiece(index) for index in range(processor.GetPieceSize()))
    _check_tokens(tokens, lambda index: f"{name}, id {index}")
    return Vocabulary(tokens, sentencepiece_model=model)


def _sentencepiece_unknown(
    vocabulary: Vocabulary, lines: Iterable[str], lower_case: bool, strip_accents: bool
) -> tuple[int, Counter[str]]:
    processor = _load_sentencepiece(vocabulary.sentencepiece_model)
    num_tokens, unknown = 0, Counter()
    for line in lines:
        folded = " ".join(fold(_without_deleted(line), lower_case, strip_accents).split())
        ids, pieces = processor.EncodeAsIds(folded), processor.EncodeAsPieces(folded)
        num_tokens += len(ids)
        unknown.update(
            piece for i, piece in zip(ids, pieces, strict=True) if i == vocabulary.unk_id
        )
    return num_tokens, unknown
