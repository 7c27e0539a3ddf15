"""A vocabulary made longer or shorter, and where the rows of its new ids come from."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from chinese.characters import HAN, character_classes, code_points
from chinese.vocab import (
    CONTINUATION,
    SPECIAL_TOKENS,
    Vocabulary,
    count_words,
    fold,
    word_pieces,
)

_UNUSED = re.compile(r"\[unused\d+\]")


class VocabularyChange(NamedTuple):
    """A new vocabulary over an old one.

    Attributes:
        vocabulary: the new one.
        sources: for each new id the old ids its row is the mean of; a kept token has its own alone.
        new_ids: for each old id the id its token has now; None where it is gone.
    """

    vocabulary: Vocabulary
    sources: tuple[tuple[int, ...], ...]
    new_ids: tuple[int | None, ...]


def extend_vocabulary(
    vocabulary: Vocabulary,
    tokens: Sequence[str],
    lower_case: bool = True,
    strip_accents: bool = True,
) -> VocabularyChange:
    """Adds tokens: first in the places of `[unusedN]`, then behind the last one.

    Each stands for the pieces that its text gave before, [UNK] if it gave none.

    Args:
        vocabulary: of WordPiece.
        tokens: words, characters, or `##` pieces, as they stand in folded text.
        lower_case, strip_accents: as the tokenizer folds.

    Raises:
        ValueError: for a token that is there already or twice, or one the tokenizer could never
            give, with the reason; for a SentencePiece model.
    """
    _check_is_wordpiece(vocabulary)
    if not tokens:
        raise ValueError("no token to add")
    pieces = []
    for place, token in enumerate(tokens):
        if token in vocabulary.ids or token in tokens[:place]:
            raise ValueError(f"{token!r} is in the vocabulary already, or named twice")
        _check_is_reachable(token, lower_case, strip_accents)
        pieces.append(_pieces_so_far(token, vocabulary))
    free = [i for i, token in enumerate(vocabulary.tokens) if _UNUSED.fullmatch(token)]
    places = [*free, *range(vocabulary.size, vocabulary.size + len(tokens))][: len(tokens)]
    changed = list(vocabulary.tokens) + [""] * max(0, len(tokens) - len(free))
    sources = [(index,) for index in range(len(changed))]
    new_ids: list[int | None] = list(range(vocabulary.size))
    for place, token, those in zip(places, tokens, pieces, strict=True):
        changed[place], sources[place] = token, those
        if place < vocabulary.size:
            new_ids[place] = None
    return VocabularyChange(Vocabulary(tuple(changed)), tuple(sources), tuple(new_ids))


def trim_vocabulary(vocabulary: Vocabulary, tokens: Collection[str]) -> VocabularyChange:
    """Takes tokens out; those behind move up.

    Raises:
        ValueError: for a token that is not there or that a model cannot do without; for a
            SentencePiece model.
    """
    _check_is_wordpiece(vocabulary)
    gone = set(tokens)
    unknown = sorted(gone - vocabulary.ids.keys())
    if unknown:
        raise ValueError(f"not in the vocabulary: {', '.join(map(repr, unknown[:10]))}")
    if needed := gone & set(SPECIAL_TOKENS):
        raise ValueError(f"{', '.join(sorted(needed))}: a model cannot do without")
    if not gone:
        raise ValueError("no token to take out")
    kept = [index for index, token in enumerate(vocabulary.tokens) if token not in gone]
    new_ids: list[int | None] = [None] * vocabulary.size
    for new, old in enumerate(kept):
        new_ids[old] = new
    return VocabularyChange(
        Vocabulary(tuple(vocabulary.tokens[index] for index in kept)),
        tuple((index,) for index in kept),
        tuple(new_ids),
    )


def unreachable_tokens(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Gives `##` pieces with a Han character in them: BERT sets Han characters apart beforehand.

    The standard Chinese vocabulary of 21,128 tokens has 7,322 of them.
    """
    classes = character_classes()
    return tuple(
        token
        for token in vocabulary.tokens
        if token.startswith(CONTINUATION)
        and (classes[code_points(token.removeprefix(CONTINUATION))] == HAN).any()
    )


def _check_is_wordpiece(vocabulary: Vocabulary) -> None:
    if vocabulary.sentencepiece_model:
        raise ValueError("a SentencePiece model cannot be changed token by token; train another")


def _check_is_reachable(token: str, lower_case: bool, strip_accents: bool) -> None:
    text = token.removeprefix(CONTINUATION) if token != CONTINUATION else token
    folded = fold(text, lower_case, strip_accents)
    if folded != text:
        raise ValueError(f"{token!r} never occurs: text is folded, so add {folded!r} instead")
    alone, words = count_words([text], lower_case, strip_accents)
    units = [*alone, *words]
    if units != [text]:
        shown = ", ".join(map(repr, units)) or "nothing"
        raise ValueError(
            f"{token!r} could never be used: before the vocabulary is asked, the tokenizer makes "
            f"{shown} of it"
        )
    if token != text and alone:
        raise ValueError(
            f"{token!r} could never be used: {text!r} always stands alone, never inside a word"
        )


def _pieces_so_far(token: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """Old ids of what the token's text gave: the ids its row is made from."""
    if token.startswith(CONTINUATION) and token != CONTINUATION:
        # A piece in the middle of a word: behind any letter it goes on as it would there.
        behind = {**vocabulary.ids, "\0": -1}
        pieces = word_pieces("\0" + token.removeprefix(CONTINUATION), behind)[1:]
    else:
        pieces = word_pieces(token, vocabulary.ids)
    return tuple(vocabulary.ids[piece] for piece in pieces) or (vocabulary.unk_id,)
