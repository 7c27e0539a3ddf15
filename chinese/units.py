"""Word spans and token spans into unit ids: which tokens are masked together."""

from collections.abc import Callable, Sequence

import numpy as np

from chinese.characters import HAN, PUNCTUATION, SPACE, WORD, character_classes, code_points
from chinese.segmentation import DEFAULT_UNIT_CAP
from chinese.spans import Span

FinerCut = Callable[[str, int], list[Span]]


def unit_ids(
    token_spans: np.ndarray,
    word_spans: np.ndarray | Sequence[Span],
    text: str,
    finer_cut: FinerCut | None = None,
    cap: int = DEFAULT_UNIT_CAP,
    breaks: np.ndarray | None = None,
) -> np.ndarray:
    """Gives int32 [n]: 1, 2, 3 …, ascending; tokens with one id are masked together.

    A token joins the one before it when both stand in one word that has a Han character in it
    (自然, T恤), or are pieces of one WordPiece run (un ##able), whatever the segmenter says. Else
    digits, Latin words and punctuation marks are units of their own. A unit has at most `cap`
    tokens, a hard bound, because the number of masked slots is fixed from it: longer words go
    through `finer_cut`; what is still longer (a Latin run of many pieces) falls into pieces of
    `cap` tokens.

    Args:
        token_spans: int [n, 2], ascending, in characters of `text`.
        word_spans: the words; together they tile `text`.
        text: the text, possibly many lines.
        finer_cut: `Segmenter.finer_cut`; without it, long words fall into pieces of `cap` tokens.
        cap: the largest unit, in tokens.
        breaks: int [m], ascending: places in `text` no unit reaches across (sentence starts).

    Raises:
        ValueError: for a cap below 1.
    """
    if cap < 1:
        raise ValueError(f"unit cap is {cap}: give at least 1 token")
    starts = np.asarray(token_spans).reshape(-1, 2)[:, 0]
    if not len(starts):
        return np.zeros(0, dtype=np.int32)
    words = np.asarray(word_spans, dtype=np.int64).reshape(-1, 2)
    classes = character_classes()[code_points(text)]
    han_before = np.concatenate([[0], np.cumsum(classes == HAN)])
    has_han = han_before[words[:, 1]] > han_before[words[:, 0]]
    word = _ordinals(words[:, 0], len(text))[starts] - 1
    piece = word
    if finer_cut is not None:
        piece = _finer_pieces(words, has_han, word, starts, text, finer_cut, cap)
    is_joined = (piece[1:] == piece[:-1]) & has_han[word[1:]]
    is_joined |= _same_run(classes, starts)
    if breaks is not None:
        stretch = _ordinals(np.asarray(breaks), len(text))[starts]
        is_joined &= stretch[1:] == stretch[:-1]
    return _capped(np.concatenate([[True], ~is_joined]), cap)


def _ordinals(places: np.ndarray, size: int) -> np.ndarray:
    """Gives int64 [size + 1]: for every character, how many of the places stand at or before it."""
    counts = np.zeros(size + 1, dtype=np.int64)
    counts[places] = 1
    return np.cumsum(counts)


def _same_run(classes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Says bool [n - 1] whether a token goes on in the WordPiece run of the token before it.

    A run ends at Han, punctuation and blanks; characters the tokenizer deletes do not end it.
    """
    ends_run = (classes == HAN) | (classes == PUNCTUATION) | (classes == SPACE)
    run = np.cumsum(ends_run)[starts]
    is_word = classes[starts] == WORD
    return (run[1:] == run[:-1]) & is_word[1:] & is_word[:-1]


def _finer_pieces(
    words: np.ndarray,
    has_han: np.ndarray,
    word: np.ndarray,
    starts: np.ndarray,
    text: str,
    finer_cut: FinerCut,
    cap: int,
) -> np.ndarray:
    """Gives int64 [n]: the word of each token, words of more than `cap` tokens cut finer."""
    num_tokens = np.bincount(word, minlength=len(words))
    long_words = np.flatnonzero((num_tokens > cap) & has_han)
    if not len(long_words):
        return word
    borders = [words[:, 0]]
    for start, end in words[long_words].tolist():
        borders.append(start + np.array([cut for cut, _ in finer_cut(text[start:end], cap)]))
    return _ordinals(np.concatenate(borders), len(text))[starts]


def _capped(is_first: np.ndarray, cap: int) -> np.ndarray:
    """Gives int32 [n]: numbered groups, each cut after every `cap` tokens."""
    places = np.arange(len(is_first))
    firsts = np.flatnonzero(is_first)
    within = places - firsts[np.cumsum(is_first) - 1]
    return np.cumsum(within % cap == 0, dtype=np.int32)
