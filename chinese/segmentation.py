"""A text into word spans: jieba, its Rust twin with equal answers, given words, characters."""

import hashlib
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from chinese.characters import SPACE, character_classes, code_points
from chinese.spans import Span, array_to_spans, tile_from_borders

SegmenterKind = Literal["jieba", "rjieba", "given", "characters", "auto"]

DEFAULT_UNIT_CAP = 4


class Segmenter(ABC):
    """Cuts texts into words; `name`, `version` and `fingerprint` belong into every manifest.

    Attributes:
        name: "jieba", "rjieba", "given" or "characters".
        version: of the library behind it, or of our rule.
        fingerprint: SHA-256 of the dictionaries in use; equal for jieba and rjieba, whose answers
            are equal; the hash of nothing where there is no dictionary.
    """

    def __init__(self, name: str, version: str, fingerprint: str) -> None:
        self.name, self.version, self.fingerprint = name, version, fingerprint
        self._finest = lru_cache(maxsize=1 << 16)(self._cut_finest)

    @abstractmethod
    def borders(self, text: str) -> np.ndarray:
        """Gives int32 [n + 1]: 0, the start of every further word, len(text); [0] for no text.

        A line end is always a word of its own, so many lines may be cut in one call.
        """

    @abstractmethod
    def has_word(self, word: str) -> bool:
        """Says whether the dictionary holds this word."""

    def segment(self, text: str) -> list[Span]:
        """Gives the words of a text, blanks included; they touch, and joined they are the text."""
        return array_to_spans(tile_from_borders(self.borders(text)))

    def finer_cut(self, word: str, cap: int = DEFAULT_UNIT_CAP) -> list[Span]:
        """Gives the pieces, of at most `cap` characters, of a word too long to be masked whole.

        Pieces are dictionary words where there are any (中华人民共和国 gives 中华, 人民, 共和国):
        the fewest pieces, then the most even, then the longer first. Without dictionary words,
        pieces of `cap` characters.

        Raises:
            ValueError: for a cap below 1.
        """
        if cap < 1:
            raise ValueError(f"unit cap is {cap}: give at least 1 character")
        return list(self._finest(word, cap))

    def _cut_finest(self, word: str, cap: int) -> tuple[Span, ...]:
        return tuple(_finest(word, cap, self.has_word))


def _finest(word: str, cap: int, has_word: Callable[[str], bool]) -> list[Span]:
    size = len(word)
    best: list[tuple] = [(0, 0, 0, None)] * (size + 1)  # cost of the rest, from every place
    found = False
    for start in range(size - 1, -1, -1):
        options = []
        for end in range(start + 1, min(start + cap, size) + 1):
            known = end - start > 1 and end - start < size and has_word(word[start:end])
            found = found or known
            if known or end == start + 1:
                length = end - start
                options.append((best[end][0] + 1, best[end][1] + length * length, -length, end))
        best[start] = min(options)
    if not found:
        return [Span(start, min(start + cap, size)) for start in range(0, size, cap)]
    pieces, start = [], 0
    while start < size:
        pieces.append(Span(start, best[start][3]))
        start = best[start][3]
    return pieces


class CharacterSegmenter(Segmenter):
    """Every character is a word: masking by character."""

    def __init__(self) -> None:
        super().__init__("characters", "1", hashlib.sha256().hexdigest())

    def borders(self, text: str) -> np.ndarray:
        return np.arange(len(text) + 1, dtype=np.int32)

    def has_word(self, word: str) -> bool:
        return False


class GivenSegmenter(Segmenter):
    """Words are what stands between blanks: for text somebody has segmented already.

    Every blank is a span of its own, never part of a word.
    """

    def __init__(self) -> None:
        super().__init__("given", "1", hashlib.sha256().hexdigest())

    def borders(self, text: str) -> np.ndarray:
        is_border = np.zeros(len(text) + 1, dtype=bool)
        is_border[0] = is_border[-1] = True
        blanks = character_classes()[code_points(text)] == SPACE
        is_border[:-1] |= blanks
        is_border[1:] |= blanks
        return np.flatnonzero(is_border).astype(np.int32)

    def has_word(self, word: str) -> bool:
        return False


class JiebaSegmenter(Segmenter):
    """jieba 0.42 in its exact mode with the hidden Markov model: the reference.

    Args:
        user_dictionaries: files in jieba's format, `word [frequency] [tag]`, one a line, UTF-8.
    """

    def __init__(self, user_dictionaries: Sequence[Path] = ()) -> None:
        super().__init__("jieba", version("jieba"), _dictionary_hash(user_dictionaries))
        self._tokenizer = _private_jieba(user_dictionaries)

    def borders(self, text: str) -> np.ndarray:
        lengths = [len(word) for word in self._tokenizer.cut(text)]
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)]).astype(np.int32)

    def has_word(self, word: str) -> bool:
        return bool(self._tokenizer.FREQ.get(word))


def _import_jieba():
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # it imports pkg_resources, whose retirement is not our news
        import jieba

    jieba.setLogLevel(60)  # above CRITICAL: it prints to stderr whatever the application asked for
    return jieba


def _private_jieba(user_dictionaries: Sequence[Path]):
    """Gives a jieba of our own, so that user words do not leak into the process-wide one.

    The dictionary is parsed here: jieba itself would go through a marshal file in the shared
    temporary folder, which anybody may have written, or nobody may write.
    """
    tokenizer = _import_jieba().Tokenizer()
    with tokenizer.get_dict_file() as dictionary:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(dictionary)
    tokenizer.initialized = True
    for path in user_dictionaries:
        _check_user_dictionary(Path(path))
        with open(path, "rb") as user_words:
            tokenizer.load_userdict(user_words)
    return tokenizer


def _check_user_dictionary(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f"user dictionary {path} does not exist: give a file, one word a line")
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}:{number}: user dictionary is not UTF-8 ({error.reason}); convert the file"
            ) from error


def _dictionary_hash(user_dictionaries: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    with _import_jieba().dt.get_dict_file() as dictionary:
        digest.update(dictionary.read())
    for path in user_dictionaries:
        if not Path(path).is_file():
            raise ValueError(f"user dictionary {path} does not exist: give a file, one word a line")
        digest.update(b"\0" + Path(path).read_bytes())
    return digest.hexdigest()


_HAN_FIRST, _HAN_LAST = 0x4E00, 0x9FD5  # jieba's Han, narrower than BERT's
_BLOCK_ASCII = re.compile(r"[a-zA-Z0-9+#&._%\-]")
_BLOCK = re.compile("[\u4e00-\u9fd5a-zA-Z0-9+#&._%\\-]+")
_ASCII_WORD = re.compile(r"[a-zA-Z0-9]+(?:\.[0-9]+)?%?")


class RjiebaSegmenter(Segmenter):
    """jieba's boundaries, to the last one, at Rust's speed.

    rjieba and jieba agree on runs of Han characters and differ on most else (`19-9`, `COVID-19`,
    `ab_12`, URLs). So rjieba sees the Han runs only, and the rest is cut by jieba's own rules:
    inside a block of Han and word-like ASCII, an ASCII run falls into numbers and letters; any
    other character stands alone. Three rare cases go to jieba itself, block by block: dictionary
    words with ASCII in them (T恤), a Han run whose outer characters jieba left single although
    they form a dictionary word (its answer then depends on both sides of the seam), and
    repetitions (哈哈哈, 研究研究: several cuts are equally likely, and the last bit of a logarithm
    decides).
    """

    def __init__(self) -> None:
        import rjieba

        super().__init__("rjieba", version("rjieba"), _dictionary_hash(()))
        self._cut, self._has_word = rjieba.cut, rjieba.has_word
        self._mixed_words = _mixed_dictionary_words()
        self._exact: JiebaSegmenter | None = None
        self._exact_borders_of_short = lru_cache(maxsize=1 << 16)(self._cut_by_jieba)

    def has_word(self, word: str) -> bool:
        return self._has_word(word)

    def borders(self, text: str) -> np.ndarray:
        points = code_points(text)
        is_han = (points >= _HAN_FIRST) & (points <= _HAN_LAST)
        is_border = np.zeros(len(text) + 1, dtype=bool)
        is_border[0] = is_border[-1] = True
        self._mark_han_runs(points, is_han, is_border)
        is_ascii = _BLOCK_ASCII_TABLE[np.minimum(points, 128)]
        self._mark_the_rest(text, points, is_han, is_ascii, is_border)
        for start, end in self._doubtful_blocks(text, points, is_han, is_ascii, is_border):
            is_border[start : end + 1] = False
            is_border[np.array(self._exact_borders(text[start:end])) + start] = True
        return np.flatnonzero(is_border).astype(np.int32)

    def _mark_han_runs(self, points: np.ndarray, is_han: np.ndarray, is_border: np.ndarray) -> None:
        # Everything else becomes a line end: one call for the whole text, no run sees another.
        masked = np.where(is_han, points, np.uint32(10)).astype(np.uint32)
        words = self._cut(masked.tobytes().decode("utf-32-le"))
        is_border[np.cumsum(np.fromiter(map(len, words), dtype=np.int64, count=len(words)))] = True

    def _mark_the_rest(
        self,
        text: str,
        points: np.ndarray,
        is_han: np.ndarray,
        is_ascii: np.ndarray,
        is_border: np.ndarray,
    ) -> None:
        # A place between two ASCII characters of a block is no border until a rule says so; jieba
        # keeps \r\n together; every other place that touches a non-Han character is a border.
        inside = (is_ascii[:-1] & is_ascii[1:]) | ((points[:-1] == 13) & (points[1:] == 10))
        touches = ~is_han[:-1] | ~is_han[1:]
        is_border[1:-1] = np.where(touches, ~inside, is_border[1:-1])
        if not is_ascii.any():
            return
        for match in _ASCII_WORD.finditer(text):
            is_border[match.start()] = is_border[match.end()] = True

    def _doubtful_blocks(
        self,
        text: str,
        points: np.ndarray,
        is_han: np.ndarray,
        is_ascii: np.ndarray,
        is_border: np.ndarray,
    ) -> list[tuple[int, int]]:
        """Gives the blocks jieba itself must cut, as (start, end)."""
        places = _repetitions(points, is_han).tolist()
        if is_ascii.any():
            places += [match.start() for match in self._mixed_words.finditer(text)]
            places += self._doubtful_seams(text, is_han, is_ascii, is_border)
        return _blocks_around(text, sorted(places), is_han | is_ascii)

    def _doubtful_seams(
        self, text: str, is_han: np.ndarray, is_ascii: np.ndarray, is_border: np.ndarray
    ) -> list[int]:
        places = []
        is_single = is_border[:-1] & is_border[1:] & is_han
        pair = is_single[:-1] & is_single[1:]
        before_ascii = np.flatnonzero(pair[:-1] & is_ascii[2:]) + 1
        after_ascii = np.flatnonzero(pair[1:] & is_ascii[:-2]) + 1
        for place in before_ascii.tolist():
            first = place
            while first > 0 and is_single[first - 1]:
                first -= 1
            if self._has_word(text[first : place + 1]):
                places.append(place)
        for place in after_ascii.tolist():
            last = place
            while last + 1 < len(text) and is_single[last + 1]:
                last += 1
            if self._has_word(text[place : last + 1]):
                places.append(place)
        return places

    def _exact_borders(self, block: str) -> tuple[int, ...]:
        # A block that long does not come twice, and a cache of them would not fit into memory.
        of_any = self._exact_borders_of_short if len(block) <= 64 else self._cut_by_jieba
        return of_any(block)

    def _cut_by_jieba(self, block: str) -> tuple[int, ...]:
        if self._exact is None:
            self._exact = JiebaSegmenter()
        return tuple(self._exact.borders(block).tolist())


_BLOCK_ASCII_TABLE = np.array(
    [bool(_BLOCK_ASCII.match(chr(code_point))) for code_point in range(128)] + [False]
)


def _repetitions(points: np.ndarray, is_han: np.ndarray) -> np.ndarray:
    """Gives the places where AAA or ABAB begins, in Han characters."""
    once = (points[:-1] == points[1:]) & is_han[1:]
    twice = (points[:-2] == points[2:]) & is_han[2:]
    triple, pairs = once[:-1] & once[1:], twice[:-1] & twice[1:] & is_han[1:-2]
    return np.concatenate([np.flatnonzero(triple), np.flatnonzero(pairs)])


def _blocks_around(text: str, places: list[int], in_block: np.ndarray) -> list[tuple[int, int]]:
    blocks: list[tuple[int, int]] = []
    for place in places:
        if blocks and place < blocks[-1][1]:
            continue
        start = place
        while start > 0 and in_block[start - 1]:
            start -= 1
        blocks.append((start, _BLOCK.match(text, start).end()))
    return blocks


def _mixed_dictionary_words() -> re.Pattern[str]:
    """Gives a pattern for the dictionary's words with word-like ASCII (70 in jieba 0.42.1)."""
    with _import_jieba().dt.get_dict_file() as dictionary:
        text = dictionary.read().decode("utf-8")
    # ASCII before the frequency's blank; the pattern keeps 349,046 lines out of Python's hands.
    found = re.findall(r"^(?=[^ \n]*[a-zA-Z0-9+#&._%\-])([^ \n]+) ", text, flags=re.MULTILINE)
    return re.compile("|".join(map(re.escape, sorted(found))))


def make_segmenter(
    kind: SegmenterKind = "auto", user_dictionaries: Sequence[Path] = ()
) -> Segmenter:
    """Gives the segmenter of this kind.

    Args:
        kind: "jieba" (the reference), "rjieba" (the same boundaries, about ten times faster),
            "given" (words between blanks), "characters", or "auto": rjieba unless user dictionaries
            ask for jieba or rjieba is not installed.
        user_dictionaries: files in jieba's format; jieba alone reads them.

    Raises:
        ValueError: for an unknown kind, for user dictionaries with a kind that reads none, for a
            dictionary that is missing or not UTF-8.
    """
    if kind == "auto":
        kind = "jieba" if user_dictionaries or not _has_rjieba() else "rjieba"
    if user_dictionaries and kind != "jieba":
        raise ValueError(
            f"segmenter {kind!r} reads no user dictionaries, but got {len(user_dictionaries)}; "
            "take segmenter 'jieba' or 'auto'"
        )
    if kind == "jieba":
        return JiebaSegmenter(user_dictionaries)
    kinds = {"rjieba": RjiebaSegmenter, "given": GivenSegmenter, "characters": CharacterSegmenter}
    if kind not in kinds:
        raise ValueError(
            f"segmenter is {kind!r}: choose one of jieba, rjieba, given, characters, auto"
        )
    return kinds[kind]()


def _has_rjieba() -> bool:
    try:
        import rjieba  # noqa: F401
    except ImportError:
        return False
    return True


class SegmentationScore(NamedTuple):
    """How well words were found, all in [0, 1]; blanks do not count as words."""

    precision: float
    recall: float
    f1: float


def evaluate_segmenter(
    segmenter: Segmenter, gold_lines: Iterable[Sequence[str]]
) -> SegmentationScore:
    """Scores a segmenter against lines cut into words by hand; a word counts if both ends agree.

    Raises:
        ValueError: when there are no gold words.
    """
    num_gold = num_found = num_right = 0
    for words in gold_lines:
        text = "".join(words)
        ends = np.cumsum([0, *map(len, words)]).tolist()
        gold = {span for span in pairwise(ends) if span[0] < span[1]}
        found = {tuple(span) for span in segmenter.segment(text) if text[slice(*span)].strip()}
        num_gold, num_found = num_gold + len(gold), num_found + len(found)
        num_right += len(gold & found)
    if not num_gold:
        raise ValueError("no gold words to score against: the lines are empty")
    precision, recall = num_right / max(num_found, 1), num_right / num_gold
    return SegmentationScore(
        precision, recall, 2 * precision * recall / max(precision + recall, 1e-12)
    )
