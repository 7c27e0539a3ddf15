"""The cargo that flows between rooms: named tuples that check themselves once, at birth.

The alphabet of shapes, used in every docstring of this house:
  B batch · L length in tokens · M masked slots · V vocabulary · E embedding width ·
  H hidden width · A attention heads · C choices · K labels

Token id 0 is [PAD] everywhere (vocabularies with another [PAD] are refused when they are read),
so a batch needs no mask beside its ids.
"""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import tensorflow as tf

PAD_ID = 0


def _check(owner: str, **fields: tuple[tf.Tensor | None, tf.DType, int]) -> None:
    """Refuses tensors of another dtype or rank.

    Named tuples also carry specs, replica bundles or None while TensorFlow maps over them;
    only tensors are looked at.
    """
    for name, (value, dtype, rank) in fields.items():
        if not isinstance(value, tf.Tensor):
            continue
        if value.dtype != dtype or value.shape.rank not in (None, rank):
            raise ValueError(
                f"{owner}.{name} must be {dtype.name} of rank {rank}, "
                f"found {value.dtype.name} {value.shape}"
            )


class TokenBatch(
    namedtuple("TokenBatch", ["input_ids", "segment_ids", "unit_ids", "sequence_ids"])
):
    """Text as numbers, as the records hold it.

    Fields:
      input_ids: int32 [B, L], 0 = padding.
      segment_ids: int32 [B, L], 0 = first segment and padding, 1 = second segment.
      unit_ids: int32 [B, L], 1, 2, 3 … in ascending order: tokens of one number are masked
        together; 0 = never masked ([CLS], [SEP], padding).
      sequence_ids: int32 [B, L], where several sequences share a row: 1, 2, 3 … side by side, each
        from its [CLS] to its last [SEP], none seeing another; 0 = padding. None = a row is one
        sequence. Whether it is None is known while a graph is traced, so rows that are not packed
        pay nothing.
    """

    __slots__ = ()

    def __new__(cls, input_ids, segment_ids, unit_ids, sequence_ids=None):
        _check(
            cls.__name__,
            input_ids=(input_ids, tf.int32, 2),
            segment_ids=(segment_ids, tf.int32, 2),
            unit_ids=(unit_ids, tf.int32, 2),
            sequence_ids=(sequence_ids, tf.int32, 2),
        )
        return super().__new__(cls, input_ids, segment_ids, unit_ids, sequence_ids)


class MaskedBatch(
    namedtuple(
        "MaskedBatch",
        [
            "input_ids",
            "segment_ids",
            "positions",
            "labels",
            "weights",
            "original_ids",
            "sequence_ids",
        ],
    )
):
    """A batch with some tokens hidden from the generator.

    Fields:
      input_ids: int32 [B, L], what the generator sees: [MASK] in place of most hidden tokens,
        random tokens in place of some, others left as they are.
      segment_ids: int32 [B, L].
      positions: int32 [B, M], where tokens are hidden; all different within a row, but for the
        masking mode `reference`, where slots in use may share one.
      labels: int32 [B, M], the original ids there.
      weights: float32 [B, M], 1 = slot in use, 0 = unused (its position means nothing).
      original_ids: int32 [B, L], the text before masking.
      sequence_ids: int32 [B, L] or None, as in `TokenBatch`.
    """

    __slots__ = ()

    def __new__(
        cls, input_ids, segment_ids, positions, labels, weights, original_ids, sequence_ids=None
    ):
        _check(
            cls.__name__,
            input_ids=(input_ids, tf.int32, 2),
            segment_ids=(segment_ids, tf.int32, 2),
            positions=(positions, tf.int32, 2),
            labels=(labels, tf.int32, 2),
            weights=(weights, tf.float32, 2),
            original_ids=(original_ids, tf.int32, 2),
            sequence_ids=(sequence_ids, tf.int32, 2),
        )
        return super().__new__(
            cls, input_ids, segment_ids, positions, labels, weights, original_ids, sequence_ids
        )


class CorruptedBatch(
    namedtuple("CorruptedBatch", ["input_ids", "segment_ids", "is_replaced", "sequence_ids"])
):
    """What the discriminator reads, and what it should find.

    Fields:
      input_ids: int32 [B, L], the original text with drawn tokens in the masked slots.
      segment_ids: int32 [B, L].
      is_replaced: float32 [B, L], 1 where the id differs from the original.
      sequence_ids: int32 [B, L] or None, as in `TokenBatch`.
    """

    __slots__ = ()

    def __new__(cls, input_ids, segment_ids, is_replaced, sequence_ids=None):
        _check(
            cls.__name__,
            input_ids=(input_ids, tf.int32, 2),
            segment_ids=(segment_ids, tf.int32, 2),
            is_replaced=(is_replaced, tf.float32, 2),
            sequence_ids=(sequence_ids, tf.int32, 2),
        )
        return super().__new__(cls, input_ids, segment_ids, is_replaced, sequence_ids)


class StepKey(NamedTuple):
    """Where in a run, and where in its global batch, some rows stand: what chance depends on.

    Fields:
      seed: int32 [2], of this step, the same on every replica.
      first_row: int32 scalar, the place of the first row in the global batch.
    """

    seed: tf.Tensor
    first_row: tf.Tensor


def is_real(input_ids: tf.Tensor) -> tf.Tensor:
    """Where tokens are, [CLS] and [SEP] included.

    Args:
      input_ids: int32 [B, L], 0 = padding.

    Returns:
      bool [B, L].
    """
    return tf.not_equal(input_ids, PAD_ID)
