"""Texts into inputs of a network, in graph: [CLS] and [SEP], cut as for training, with offsets."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from chinese.tokenizer import Tokenizer


class ModelInputs(NamedTuple):
    """A batch of texts, or of pairs of texts, padded to its longest row.

    Fields:
      input_ids: int32 [B, L], 0 = padding.
      segment_ids: int32 [B, L], 1 = second text and the [SEP] behind it, else 0.
      parts: int32 [B, L], which text a token stands in, 0 or 1; -1 = [CLS], [SEP], padding.
      starts, ends: int32 [B, L], its characters there, half-open; 0 where parts is -1.
      is_truncated: bool [B], tokens were left out because the row was full.
    """

    input_ids: tf.Tensor
    segment_ids: tf.Tensor
    parts: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    is_truncated: tf.Tensor


class _Part(NamedTuple):
    """One text a row. int32: [T] a token's id, characters, row and place in it; [B] the sizes."""

    ids: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    rows: tf.Tensor
    places: tf.Tensor
    sizes: tf.Tensor


class TextToInputs(tf.Module):
    """What `chinese.clue` does to texts before a head sees them, as part of a saved graph.

    A text alone loses its end; of a pair the longer loses its end until both fit, and of two
    equally long ones the second (google-research/electra at 8a46635, `finetune/classification`).

    Args:
        tokenizer: of the network.
        max_length: tokens of a row at most, [CLS] and [SEP] among them.

    Raises:
        ValueError: there is no room for one token of each text.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int) -> None:
        super().__init__(name="text_to_inputs")
        if max_length < 5:
            raise ValueError(f"max_length is {max_length}; [CLS] a [SEP] b [SEP] takes 5 tokens")
        self.tokenizer = tokenizer
        self.max_length = max_length

    def of_texts(self, texts: tf.Tensor) -> ModelInputs:
        """Gives [CLS] a [SEP] for every text, string [B]; of "" just the two."""
        part = self._tokenized(texts)
        kept = tf.minimum(part.sizes, self.max_length - 2)
        return self._joined([part], [kept])

    def of_pairs(self, texts: tf.Tensor, pairs: tf.Tensor) -> ModelInputs:
        """Gives [CLS] a [SEP] b [SEP] for two strings [B]."""
        first, second = self._tokenized(texts), self._tokenized(pairs)
        room = self.max_length - 3
        half = room // 2
        kept = [
            tf.minimum(first.sizes, tf.maximum(room - half, room - second.sizes)),
            tf.minimum(second.sizes, tf.maximum(half, room - first.sizes)),
        ]
        return self._joined([first, second], kept)

    def _tokenized(self, texts: tf.Tensor) -> _Part:
        ids, starts, ends = self.tokenizer.tokenize(texts)
        rows = tf.cast(ids.value_rowids(), tf.int32)
        places = tf.range(tf.size(rows)) - tf.gather(tf.cast(ids.row_starts(), tf.int32), rows)
        sizes = tf.cast(ids.row_lengths(), tf.int32)
        return _Part(ids.flat_values, starts.flat_values, ends.flat_values, rows, places, sizes)

    def _joined(self, parts: list[_Part], kept: list[tf.Tensor]) -> ModelInputs:
        """Lays tokens and specials on their places, all five fields of a token at once."""
        vocabulary = self.tokenizer.vocabulary
        every_row = tf.range(tf.size(kept[0]))
        columns = tf.zeros_like(every_row)
        indices = [tf.stack([every_row, columns], axis=1)]
        values = [_fields(columns + vocabulary.cls_id, 0, 0)]
        for number, (part, size) in enumerate(zip(parts, kept, strict=True)):
            first = columns + 1
            columns = first + size
            stays = part.places < tf.gather(size, part.rows)
            within = tf.stack([part.rows, tf.gather(first, part.rows) + part.places], axis=1)
            tokens = _fields(part.ids, number, number + 1, part.starts, part.ends)
            indices += [tf.boolean_mask(within, stays), tf.stack([every_row, columns], axis=1)]
            values += [
                tf.boolean_mask(tokens, stays),
                _fields(tf.zeros_like(columns) + vocabulary.sep_id, number, 0),
            ]
        width = tf.maximum(tf.reduce_max(columns) + 1, 1)  # of no rows the largest is no number
        shape = tf.stack([tf.size(every_row), width, 5])
        laid = tf.scatter_nd(tf.concat(indices, 0), tf.concat(values, 0), shape)
        ids, segments, numbers, starts, ends = tf.unstack(laid, num=5, axis=2)
        is_truncated = tf.reduce_any(
            [size < part.sizes for part, size in zip(parts, kept, strict=True)], axis=0
        )
        return ModelInputs(ids, segments, numbers - 1, starts, ends, is_truncated)


def _fields(
    ids: tf.Tensor,
    segment: int,
    number: int,
    starts: tf.Tensor | None = None,
    ends: tf.Tensor | None = None,
) -> tf.Tensor:
    """int32 [n, 5]; the number of a text is one more than its part, so that padding has none."""
    zeros = tf.zeros_like(ids)
    starts, ends = (zeros if side is None else side for side in (starts, ends))
    return tf.stack([ids, zeros + segment, zeros + number, starts, ends], axis=1)
