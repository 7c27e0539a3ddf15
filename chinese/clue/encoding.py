"""Texts into inputs of the encoder: cutting, windows, [CLS] and [SEP], always with offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from chinese.clue.features import TokenSequence

if TYPE_CHECKING:
    from chinese.vocab import Vocabulary

_EXAMPLES_AT_ONCE = 512


class Tokens(NamedTuple):
    """Tokens of one text: `ids` int32 [n], `spans` int32 [n, 2] in characters of that text."""

    ids: np.ndarray
    spans: np.ndarray

    def cut(self, first: int, last: int) -> Tokens:
        """Gives the tokens [first, last)."""
        return Tokens(self.ids[first:last], self.spans[first:last])


class TextTokenizer(Protocol):
    """What this room needs of `chinese.tokenizer.Tokenizer`."""

    vocabulary: Vocabulary

    def encode(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """Gives the tokens of every text."""


@dataclass(frozen=True)
class TextSettings:
    """How texts become inputs, and outputs answers; to be kept with a model that was tuned.

    Attributes:
        max_length: tokens of one input at most, [CLS] and [SEP] among them.
        long_text: what a text to be classified loses where it is too long: its end ("cut"), or
            nothing, as it is read in several windows ("windows").
        pooling: how the logits of several windows become those of the text.
        stride: tokens from the beginning of a window to that of the next.
        max_query_length: tokens of a question at most.
        max_answer_length: tokens of an answer at most.
        tokens: "wordpiece", or "characters", where every character that is not blank is a token of
            its own, as in CLUENER's baselines: no entity then begins inside of a token.
    """

    max_length: int
    long_text: Literal["cut", "windows"] = "cut"
    pooling: Literal["mean", "max"] = "mean"
    stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    tokens: Literal["wordpiece", "characters"] = "wordpiece"

    def __post_init__(self) -> None:
        if self.max_length < 16:
            raise ValueError(f"max_length is {self.max_length}; it takes 16 tokens at least")
        for name in ("stride", "max_query_length", "max_answer_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it is at least 1")
        _check_choice("long_text", self.long_text, ("cut", "windows"))
        _check_choice("pooling", self.pooling, ("mean", "max"))
        _check_choice("tokens", self.tokens, ("wordpiece", "characters"))


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: choose {' or '.join(choices)}")


class _CharacterTokenizer:
    """Tokenises every character on its own."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self.vocabulary = tokenizer.vocabulary

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        characters = sorted(set().union(*texts))
        ids = {
            character: tokens.ids
            for character, tokens in zip(
                characters, self._tokenizer.encode(characters), strict=True
            )
        }
        return [self._line(text, ids) for text in texts]

    def _line(self, text: str, ids: dict[str, np.ndarray]) -> Tokens:
        # ㎏ and ½ fold to several tokens; tags want one a character.
        found = [
            (int(ids[character][0]) if len(ids[character]) == 1 else self.vocabulary.unk_id, place)
            for place, character in enumerate(text)
            if len(ids[character])
        ]
        table = np.array(found, dtype=np.int32).reshape(-1, 2)
        return Tokens(table[:, 0], np.stack([table[:, 1], table[:, 1] + 1], axis=1))


ExampleT = TypeVar("ExampleT")


def tokenized(
    examples: Iterable[ExampleT],
    texts_of: Callable[[ExampleT], Sequence[str]],
    tokenizer: TextTokenizer,
    settings: TextSettings,
) -> Iterator[tuple[int, ExampleT, list[Tokens]]]:
    """Yields every example with its place and the tokens of its texts.

    Many texts go through the tokenizer at once, and a text that several examples share, as the
    passage of several questions, goes through it once.
    """
    if settings.tokens == "characters":
        tokenizer = _CharacterTokenizer(tokenizer)
    examples = list(examples)
    for first in range(0, len(examples), _EXAMPLES_AT_ONCE):
        some = examples[first : first + _EXAMPLES_AT_ONCE]
        texts = [texts_of(example) for example in some]
        different = list(dict.fromkeys(text for each in texts for text in each))
        lines = [Tokens(*line) for line in tokenizer.encode(different)]
        known = dict(zip(different, lines, strict=True))
        for place, (example, each) in enumerate(zip(some, texts, strict=True), start=first):
            yield place, example, [known[text] for text in each]


def longest_first(sizes: Sequence[int], budget: int, spare_last: bool) -> list[int]:
    """Gives how many tokens of each text stay: the longest loses one until all fit.

    Args:
        sizes: tokens of each text.
        budget: tokens of all of them together at most.
        spare_last: of equally long texts the first loses (C3's baseline); else the last (BERT's
            pairs: google-research/electra at 8a46635, `finetune/classification`).

    >>> longest_first([5, 9], 10, spare_last=False), longest_first([8, 8], 15, spare_last=False)
    ([5, 5], [8, 7])
    >>> longest_first([8, 8, 2], 17, spare_last=True)
    [7, 8, 2]
    """
    kept = list(sizes)
    order = range(len(kept)) if spare_last else range(len(kept) - 1, -1, -1)
    while (excess := sum(kept) - budget) > 0:
        longest = max(order, key=kept.__getitem__)
        second = max((size for place, size in enumerate(kept) if place != longest), default=0)
        # Until it is as long as the second, no other text can be the one that loses.
        kept[longest] -= max(1, min(excess, kept[longest] - second))
    return kept


def window_borders(size: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Gives the windows [first, last) over `size` tokens; the last one ends with them.

    >>> window_borders(10, 6, 2), window_borders(3, 6, 2), window_borders(0, 6, 2)
    ([(0, 6), (2, 8), (4, 10)], [(0, 3)], [(0, 0)])
    """
    borders = [(0, min(size, room))]
    while borders[-1][1] < size:
        first = borders[-1][0] + min(stride, room)
        borders.append((first, min(size, first + room)))
    return borders


def max_context_windows(size: int, borders: Sequence[tuple[int, int]]) -> np.ndarray:
    """Gives, for every token, the window that shows most text around it: int [size].

    That is the smaller of the numbers of tokens before and behind it, plus a hundredth of the
    window's size; the first of equals.

    Source: google-research/electra at 8a46635, `finetune/qa`.
    """
    best = np.full(size, -1.0)
    window_of = np.zeros(size, dtype=np.int64)
    for window, (first, last) in enumerate(borders):
        within = np.arange(last - first)
        score = np.minimum(within, within[::-1]) + 0.01 * (last - first)
        is_better = score > best[first:last]
        best[first:last][is_better] = score[is_better]
        window_of[first:last][is_better] = window
    return window_of


class Segment(NamedTuple):
    """A stretch of an input: tokens of the example's text `part`, behind them a [SEP]."""

    part: int
    tokens: Tokens
    segment_id: int


def join(vocabulary: Vocabulary, segments: Sequence[Segment]) -> TokenSequence:
    """Gives [CLS] first [SEP] second [SEP] … as an input."""
    specials = np.array([[vocabulary.cls_id], [vocabulary.sep_id]], dtype=np.int32)
    no_part, no_span = np.array([-1], dtype=np.int32), np.zeros((1, 2), dtype=np.int32)
    ids, parts, spans = [specials[0]], [no_part], [no_span]
    sizes = [1 + len(segments[0].tokens.ids) + 1]
    sizes += [len(segment.tokens.ids) + 1 for segment in segments[1:]]
    for segment in segments:
        size = len(segment.tokens.ids)
        ids += [segment.tokens.ids, specials[1]]
        parts += [np.full(size, segment.part, dtype=np.int32), no_part]
        spans += [segment.tokens.spans, no_span]
    return TokenSequence(
        np.concatenate(ids).astype(np.int32, copy=False),
        np.repeat(np.array([s.segment_id for s in segments], dtype=np.int32), sizes),
        np.concatenate(parts),
        np.concatenate(spans).astype(np.int32, copy=False),
    )
