"""Text into token ids and character spans, in graph: BERT's folding, then FastWordpiece."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from chinese.characters import (
    DELETED,
    HAN,
    NUM_CODE_POINTS,
    PUNCTUATION,
    REPLACEMENT,
    SPACE,
    character_classes,
    code_points,
)
from chinese.vocab import CONTINUATION, Vocabulary

MAX_WORD_CHARACTERS = 200
"""Longer words are one [UNK]. Source: google-research/electra at 8a46635, `tokenization.py`."""

_CAPITAL_SIGMA, _FINAL_SIGMA = 0x3A3, 0x3C2
_MAX_BYTES_PER_WORD = 1 << 30  # we count characters, as BERT does; FastWordpiece would count bytes
_PAGE_BITS = 8
_DELETE, _EXPAND = 1 << 24, 1 << 25  # codes of the folding beyond any difference of code points
_NOTHING, _DEPENDS = -1, -2  # no id
_ENCODE_CHARACTERS = 1 << 20  # a call of the graph sees about so many: memory stays flat
_SAFE_TO_CUT_BEFORE = re.compile("[ \n\u4e00-\u9fff]")


class TokenizedLine(NamedTuple):
    """The tokens of a text: `ids` int32 [n], `spans` int32 [n, 2] in characters of that text."""

    ids: np.ndarray
    spans: np.ndarray


class _Folding(NamedTuple):
    """BERT's cleaning, lower-casing and accent stripping of every code point, as small tables.

    The code of code point c is `pages[page_starts[c >> 8] + (c & 255)]`: a difference to add to c,
    `_DELETE`, or `_EXPAND` + i for the several code points of expansion i.
    """

    page_starts: np.ndarray  # int32 [0x1100]
    pages: np.ndarray  # int32 [distinct pages * 256]
    expansion_starts: np.ndarray  # int32 [expansions]
    expansion_sizes: np.ndarray  # int32 [expansions]
    expansion_values: np.ndarray  # int32 [total]


@cache
def _folding(lower_case: bool, strip_accents: bool) -> _Folding:
    # From Python's own Unicode data, not by TensorFlow's lower-casing: the saved graph must fold
    # as the records were folded whatever ICU a server brings, and every output knows its source.
    codes = np.zeros(NUM_CODE_POINTS, dtype=np.int32)
    classes = character_classes()
    expansions: list[list[int]] = []
    for code_point, text in enumerate(_fold_each(lower_case, strip_accents)):
        if len(text) != 1 or text in _YOUNG_PUNCTUATION:
            spaced = "".join(f" {c} " if c in _YOUNG_PUNCTUATION else c for c in text)
            codes[code_point] = _EXPAND + len(expansions) if spaced else _DELETE
            expansions += [list(map(ord, spaced))] if spaced else []
        else:
            codes[code_point] = ord(text) - code_point
    blanks = np.flatnonzero(classes == SPACE)
    codes[blanks] = ord(" ") - blanks
    codes[classes == DELETED] = _DELETE
    pages, page_of = np.unique(codes.reshape(-1, 1 << _PAGE_BITS), axis=0, return_inverse=True)
    sizes = np.array(list(map(len, expansions)), dtype=np.int32)
    return _Folding(
        (page_of.reshape(-1) << _PAGE_BITS).astype(np.int32),
        pages.reshape(-1).astype(np.int32),
        np.cumsum(sizes, dtype=np.int32) - sizes,
        sizes,
        np.array(list(chain.from_iterable(expansions)), dtype=np.int32),
    )


def _fold_each(lower_case: bool, strip_accents: bool) -> Iterator[str]:
    """Yields the folded text of every code point; "" where nothing is left."""
    for characters in _some_characters():
        if lower_case:
            # Many at once, each on its own line, where it has no context.
            joined = "\n".join(characters).lower()
            if strip_accents:
                joined = unicodedata.normalize("NFD", joined)
                joined = "".join(c for c in joined if unicodedata.category(c) != "Mn")
            characters = joined.split("\n")
        yield from characters


def _some_characters() -> Iterator[list[str]]:
    """Yields all characters in portions, a blank for the line end: all at once take 200 MB."""
    for first in range(0, NUM_CODE_POINTS, 1 << 14):
        characters = map(chr, range(first, min(first + (1 << 14), NUM_CODE_POINTS)))
        yield [character if character != "\n" else " " for character in characters]


def _young_punctuation() -> frozenset[str]:
    """Gives punctuation younger than Unicode 3.2: FastWordpiece splits by the ICU built into it.

    Blanks around it make the answer independent of that.
    """
    return frozenset(
        chr(code_point)
        for code_point in np.flatnonzero(character_classes() == PUNCTUATION).tolist()
        if code_point > 126 and unicodedata.ucd_3_2_0.category(chr(code_point))[0] != "P"
    )


_YOUNG_PUNCTUATION = _young_punctuation()


@cache
def _case_edges() -> tuple[np.ndarray, np.ndarray]:
    """Gives the code points where "is cased" and "is ignored for case" change, both int32 [n].

    Asked of Python itself, by the sigma that becomes final only after a cased character.
    """
    cased, ignored = [], []
    for every in _some_characters():
        after = "\n".join(f"{c}\u03a3" for c in every).lower().split("\n")
        beyond = "\n".join(f"a{c}\u03a3" for c in every).lower().split("\n")
        cased.append([text[-1] == "\u03c2" for text in after])
        ignored.append([text[-1] == "\u03c2" for text in beyond])
    cased = np.concatenate(cased)
    ignored = np.concatenate(ignored) & ~cased
    ignored |= character_classes() == DELETED
    return _edges(cased & ~ignored), _edges(ignored)


def _edges(chosen: np.ndarray) -> np.ndarray:
    return (np.flatnonzero(np.diff(chosen.view(np.int8), prepend=0))).astype(np.int32)


def _is_within(code_points_: tf.Tensor, edges: np.ndarray) -> tf.Tensor:
    return tf.searchsorted(edges, code_points_, side="right") % 2 == 1


class Tokenizer(tf.Module):
    """BERT's tokenizer with character offsets, in graph: the same ops build records and serve.

    Cleaning, lower-casing and accent stripping come from tables made here; TF Text's own
    lower-casing would fold ，！？ to ASCII. FastWordpiece then splits at blanks, punctuation and
    Han characters.

    Args:
        vocabulary: of WordPiece, or with a SentencePiece model, which sees the same folded text.
        lower_case: fold A to a.
        strip_accents: also fold é to e; only together with `lower_case`, as in BERT, so a cased
            tokenizer never strips.
    """

    def __init__(
        self, vocabulary: Vocabulary, lower_case: bool = True, strip_accents: bool = True
    ) -> None:
        super().__init__(name="tokenizer")
        self.vocabulary = vocabulary
        self.lower_case = lower_case
        self.strip_accents = lower_case and strip_accents
        self._fold = _folding(self.lower_case, self.strip_accents)
        self._ids_alone: np.ndarray | None = None  # made when the first text is encoded
        self._is_wordpiece = not vocabulary.sentencepiece_model
        self._is_continuation = np.array(
            [self._is_wordpiece and t.startswith(CONTINUATION) for t in vocabulary.tokens]
        )
        self._pieces = (
            _fast_wordpiece(vocabulary)
            if self._is_wordpiece
            else (tf_text.SentencepieceTokenizer(vocabulary.sentencepiece_model, out_type=tf.int32))
        )

    @property
    def settings(self) -> dict[str, bool | str]:
        """What must be saved with a model: `lower_case`, `strip_accents`, `vocabulary_sha256`."""
        return {
            "lower_case": self.lower_case,
            "strip_accents": self.strip_accents,
            "vocabulary_sha256": self.vocabulary.sha256,
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def tokenize(
        self, texts: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Gives tokens without [CLS] and [SEP].

        Args:
            texts: string [N], UTF-8.

        Returns:
            ids, starts, ends: int32 [N, (tokens)]; half-open, in characters of the text as given. A
            token that folding made of several characters (ﾞ after か) covers them all.
        """
        points = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")
        folded, sources, row_splits = self._folded(points)
        rows = tf.RaggedTensor.from_row_splits(folded, row_splits, validate=False)
        encoded = tf.strings.unicode_encode(rows, "UTF-8")
        pieces, starts, ends = self._pieces.tokenize_with_offsets(encoded)
        row = pieces.value_rowids()
        first, last = _byte_to_folded(encoded, starts, ends)
        if not self._is_wordpiece:
            # A piece ▁x begins with the blank before it; its span should not.
            is_blank = tf.gather(folded, first) == ord(" ")
            first += tf.cast(is_blank & (last > first), tf.int32)
        ids, row, first, last = self._without_endless_words(
            tf.ensure_shape(pieces.flat_values, [None]), row, first, last
        )
        line_starts = tf.cast(tf.gather(points.row_starts(), row), tf.int32)
        ragged = tf.RaggedTensor.from_value_rowids(ids, row, nrows=points.nrows(), validate=False)
        starts = tf.gather(sources, first) - line_starts
        ends = tf.gather(sources, last) + 1 - line_starts
        return ragged, ragged.with_values(starts), ragged.with_values(ends)

    def _folded(self, points: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Gives folded code points int32 [F], their sources int32 [F], row splits int64 [N + 1]."""
        flat, fold = points.flat_values, self._fold
        page = tf.gather(fold.page_starts, tf.bitwise.right_shift(flat, _PAGE_BITS))
        codes = tf.gather(fold.pages, page + tf.bitwise.bitwise_and(flat, (1 << _PAGE_BITS) - 1))
        if self.lower_case:
            codes = tf.cond(
                tf.reduce_any(flat == _CAPITAL_SIGMA),
                lambda: _with_final_sigmas(points, codes),
                lambda: codes,
            )
        sources = tf.cast(tf.where(codes != _DELETE)[:, 0], tf.int32)
        kept_codes = tf.gather(codes, sources)
        folded = tf.gather(flat, sources) + kept_codes
        folded, sources = tf.cond(
            tf.reduce_any(kept_codes >= _EXPAND),
            lambda: self._expanded(folded, sources, kept_codes),
            lambda: (folded, sources),
        )
        splits = tf.searchsorted(sources, tf.cast(points.row_splits, tf.int32), out_type=tf.int64)
        return folded, sources, splits

    def _expanded(
        self, folded: tf.Tensor, sources: tf.Tensor, codes: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        fold = self._fold
        is_long = codes >= _EXPAND
        which = tf.where(is_long, codes - _EXPAND, 0)
        sizes = tf.where(is_long, tf.gather(fold.expansion_sizes, which), 1)
        origin = tf.repeat(tf.range(tf.size(codes)), sizes)
        within = tf.range(tf.size(origin)) - tf.gather(tf.cumsum(sizes) - sizes, origin)
        long = tf.gather(is_long, origin)
        place = tf.gather(tf.gather(fold.expansion_starts, which), origin) + within
        expanded = tf.gather(fold.expansion_values, tf.where(long, place, 0))
        folded = tf.where(long, expanded, tf.gather(folded, origin))
        return folded, tf.gather(sources, origin)

    def _without_endless_words(
        self, ids: tf.Tensor, row: tf.Tensor, first: tf.Tensor, last: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Turns words of more than 200 folded characters into one [UNK] each, as BERT does.

        All int [T], one entry a token: its id, its row, its first and last place in the folded
        text.
        """
        is_head = ~tf.gather(self._is_continuation, ids)
        heads = tf.where(is_head)[:, 0]
        tails = tf.concat([heads, [tf.size(ids, out_type=tf.int64)]], 0)[1:] - 1
        word_ends = tf.gather(last, tails)
        is_endless = word_ends + 1 - tf.gather(first, heads) > MAX_WORD_CHARACTERS

        def collapse() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
            word_ids = tf.where(is_endless, self.vocabulary.unk_id, tf.gather(ids, heads))
            word_last = tf.where(is_endless, word_ends, tf.gather(last, heads))
            keep = is_head | ~tf.gather(is_endless, tf.cumsum(tf.cast(is_head, tf.int32)) - 1)
            changed = [
                tf.tensor_scatter_nd_update(ids, heads[:, None], word_ids),
                row,
                first,
                tf.tensor_scatter_nd_update(last, heads[:, None], word_last),
            ]
            return tuple(tf.boolean_mask(tensor, keep) for tensor in changed)

        return tf.cond(tf.reduce_any(is_endless), collapse, lambda: (ids, row, first, last))

    def encode_flat(self, text: str) -> TokenizedLine:
        """Gives the tokens of one text, of any length, lines and all.

        Han characters and punctuation marks are tokens whatever stands beside them, so most of a
        Chinese text is looked up in a table, which the graph itself has filled. Only what stands
        between them (Latin, digits, kana, marks) goes through the graph, a line each.
        """
        if not self._is_wordpiece or chr(_CAPITAL_SIGMA) in text:
            return self._encode_in_graph(text)
        points = code_points(text)
        if self._ids_alone is None:
            self._ids_alone = self._tokens_in_any_company()
        ids = self._ids_alone[points]
        alone = np.flatnonzero(ids >= 0).astype(np.int32)
        inside = np.flatnonzero(ids == _DEPENDS).astype(np.int32)
        if not len(inside):
            return TokenizedLine(ids[alone], np.stack([alone, alone + 1], axis=1))
        ends = np.flatnonzero(np.diff(inside) > 1) + 1
        runs = np.insert(points[inside], ends, ord("\n"))
        sources = np.insert(inside, ends, -1)
        line = self._encode_in_graph(runs.tobytes().decode("utf-32-le", "surrogatepass"))
        starts, lasts = sources[line.spans[:, 0]], sources[line.spans[:, 1] - 1]
        places = np.searchsorted(alone, starts)
        spans = [np.insert(alone, places, starts), np.insert(alone + 1, places, lasts + 1)]
        return TokenizedLine(np.insert(ids[alone], places, line.ids), np.stack(spans, axis=1))

    def _tokens_in_any_company(self) -> np.ndarray:
        """Gives int32 [0x110000]: the id of a character that is a token whatever stands beside it.

        `_NOTHING` for a blank, `_DEPENDS` for all that may join or be folded into something else.
        """
        ids = np.full(NUM_CODE_POINTS, _DEPENDS, np.int32)
        classes = character_classes()
        ids[classes == SPACE] = _NOTHING
        chosen = np.flatnonzero(np.isin(classes, (HAN, PUNCTUATION)))
        found, _, _ = self.tokenize(tf.constant([chr(point).encode() for point in chosen.tolist()]))
        is_one = found.row_lengths().numpy() == 1
        starts = found.row_starts().numpy()[is_one]
        ids[chosen[is_one]] = found.flat_values.numpy()[starts]
        return ids

    def _encode_in_graph(self, text: str) -> TokenizedLine:
        pieces = [self._encode_piece(text[a:b], a) for a, b in _safe_pieces(text)]
        if not pieces:
            return TokenizedLine(np.zeros(0, np.int32), np.zeros((0, 2), np.int32))
        return TokenizedLine(
            np.concatenate([piece.ids for piece in pieces]),
            np.concatenate([piece.spans for piece in pieces]),
        )

    def _encode_piece(self, text: str, offset: int) -> TokenizedLine:
        # SentencePiece sees a line end as a blank that may join what stands around it.
        rows = [text] if self._is_wordpiece else text.split("\n")
        ids, starts, ends = self.tokenize(tf.constant([_utf8(row) for row in rows]))
        sizes = np.array([len(row) + 1 for row in rows])
        row_starts = (np.cumsum(sizes) - sizes + offset).astype(np.int32)
        spans = np.stack([starts.flat_values.numpy(), ends.flat_values.numpy()], axis=1)
        spans += np.repeat(row_starts, ids.row_lengths().numpy())[:, None]
        return TokenizedLine(ids.flat_values.numpy(), spans)

    def encode(self, texts: Sequence[str]) -> list[TokenizedLine]:
        """Gives the tokens of many texts in few calls of the graph.

        The texts go in as lines of one: a line end is a blank, and no token crosses a blank.
        """
        flat = self.encode_flat("\n".join(texts))
        sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 1
        line_starts = np.cumsum(sizes) - sizes
        borders = np.searchsorted(flat.spans[:, 0], np.append(line_starts, sizes.sum())).tolist()
        return [
            TokenizedLine(flat.ids[first:last], flat.spans[first:last] - np.int32(line_start))
            for first, last, line_start in zip(
                borders[:-1], borders[1:], line_starts.tolist(), strict=True
            )
        ]


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate cannot be written; like U+FFFD it is one character BERT deletes.
        points = code_points(text).copy()
        points[(points >= 0xD800) & (points <= 0xDFFF)] = REPLACEMENT
        return points.tobytes().decode("utf-32-le").encode("utf-8")


def _fast_wordpiece(vocabulary: Vocabulary) -> tf_text.FastWordpieceTokenizer:
    return tf_text.FastWordpieceTokenizer(
        vocab=_matchable(vocabulary),
        suffix_indicator=CONTINUATION,
        max_bytes_per_word=_MAX_BYTES_PER_WORD,
        token_out_type=tf.int32,
        unknown_token="[UNK]",
        support_detokenization=False,
    )


def _matchable(vocabulary: Vocabulary) -> list[str]:
    """Gives the tokens for FastWordpiece; those BERT can never produce become stand-ins.

    That is a token with a blank or a deleted character in it: FastWordpiece would match the blank,
    and marks its own states with control characters. A stand-in never matches: its bracket is split
    off.
    """
    classes = character_classes()
    never = [
        bool(np.isin(classes[code_points(token)], (SPACE, DELETED)).any())
        for token in vocabulary.tokens
    ]
    return [
        f"[never {index}" if is_never else token
        for index, (token, is_never) in enumerate(zip(vocabulary.tokens, never, strict=True))
    ]


def _safe_pieces(text: str) -> list[tuple[int, int]]:
    """Gives stretches of about `_ENCODE_CHARACTERS`, cut before a blank or a Han character.

    No token crosses such a place, so cutting there changes nothing.
    """
    pieces, start = [], 0
    while start < len(text):
        match = _SAFE_TO_CUT_BEFORE.search(text, start + _ENCODE_CHARACTERS)
        end = match.start() if match else len(text)
        pieces.append((start, end))
        start = end
    return pieces


def _with_final_sigmas(points: tf.RaggedTensor, codes: tf.Tensor) -> tf.Tensor:
    """Gives the codes with ς where Python lower-cases to it: after a cased letter, before none."""
    flat, rows = points.flat_values, points.value_rowids()
    cased_edges, ignored_edges = _case_edges()
    places = tf.where(~_is_within(flat, ignored_edges))[:, 0]
    counted, row = tf.gather(flat, places), tf.gather(rows, places)
    cased = tf.pad(_is_within(counted, cased_edges), [[1, 1]])
    row = tf.pad(row, [[1, 1]], constant_values=-1)
    before = cased[:-2] & (row[:-2] == row[1:-1])
    after = cased[2:] & (row[2:] == row[1:-1])
    is_final = (counted == _CAPITAL_SIGMA) & before & ~after
    finals = tf.boolean_mask(places, is_final)[:, None]
    return tf.tensor_scatter_nd_update(
        codes, finals, tf.fill([tf.size(finals)], _FINAL_SIGMA - _CAPITAL_SIGMA)
    )


def _byte_to_folded(
    encoded: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Gives, for every token, the places in the folded text of its first and last character.

    Args:
        encoded: string [N], the folded rows in UTF-8.
        starts, ends: int64 [N, (T)], in bytes of each row.

    Returns:
        Two int32 [T], counted over all rows together.
    """
    every_byte = tf.io.decode_raw(tf.strings.reduce_join(encoded), tf.uint8)
    # A byte 10xxxxxx goes on in a character, any other begins one.
    begins = tf.cast(tf.bitwise.bitwise_and(every_byte, 0xC0) != 0x80, tf.int32)
    place_of_byte = tf.cumsum(begins) - 1
    row_sizes = tf.strings.length(encoded)
    row_starts = tf.gather(tf.cumsum(row_sizes) - row_sizes, starts.value_rowids())
    # The op tells no static shape, and masks need a rank.
    first_bytes = tf.cast(tf.ensure_shape(starts.flat_values, [None]), tf.int32)
    last_bytes = tf.cast(tf.ensure_shape(ends.flat_values, [None]), tf.int32) - 1
    return (
        tf.gather(place_of_byte, first_bytes + row_starts),
        tf.gather(place_of_byte, last_bytes + row_starts),
    )
