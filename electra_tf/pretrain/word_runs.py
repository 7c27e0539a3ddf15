"""Runs of neighbouring words, hidden together in the modes `ngram` and `span`.

A row is cut into consecutive runs from its first word to its last, afresh in every step: a length
in words is drawn, the run takes that many words, and the next run begins where it ends. It ends
sooner where the next word would make it longer than the mode's cap in tokens, and at a special
token ([SEP], [CLS], padding): no run reaches from one segment, or one packed text, into the next.
Words are never cut.

The cap makes runs of long words shorter than drawn. Which runs are hidden is then decided as for
single words (`masking.py`), so a run is as likely to be hidden as any other, whatever its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf


class RunLaw(NamedTuple):
    """How long runs are.

    Fields:
      rates: the chance of a run of 1, 2, 3 … words.
      max_tokens: no run is longer, in tokens.
    """

    rates: tuple[float, ...]
    max_tokens: int


def _geometric(stop_rate: float, max_words: int) -> tuple[float, ...]:
    """Chances of 1 … max_words words, each (1 - stop_rate) times that of one word less."""
    weights = [(1 - stop_rate) ** words for words in range(max_words)]
    return tuple(weight / sum(weights) for weight in weights)


RUN_LAWS: Mapping[str, RunLaw] = {
    # Cui and others, "Revisiting Pre-trained Models for Chinese Natural Language Processing"
    # (MacBERT), 2020: n-grams of words.
    "ngram": RunLaw((0.4, 0.3, 0.2, 0.1), max_tokens=8),
    # Joshi and others, "SpanBERT", 2020. There the last span ends in the middle of a word where the
    # budget is spent; here no span does.
    "span": RunLaw(_geometric(0.2, max_words=10), max_tokens=10),
}


def longest_run(law: RunLaw, max_unit_tokens: int) -> int:
    """The most tokens of a run; a single word is never cut, though it be longer than the cap."""
    return max(max_unit_tokens, min(law.max_tokens, len(law.rates) * max_unit_tokens))


def word_runs(unit_ids: tf.Tensor, draws: tf.Tensor, law: RunLaw, cap: int) -> tf.Tensor:
    """Cuts every row into runs.

    Args:
      unit_ids: int32 [B, L], the words: ascending, 0 = special tokens and padding.
      draws: float32 [B, L] in [0, 1), for the run that begins there, if one does.
      law: how long runs are.
      cap: `longest_run`, in tokens.

    Returns:
      int32 [B, L], ascending: the tokens of a run have one number; 0 = special tokens and padding.
    """
    thresholds = tf.constant(np.cumsum(law.rates)[:-1], tf.float32)
    num_words = 1 + tf.searchsorted(thresholds, tf.reshape(draws, [-1]), side="right")
    starts = _starts(_ends(unit_ids, tf.reshape(num_words, tf.shape(draws)), cap))
    places = tf.broadcast_to(tf.range(unit_ids.shape[1]), tf.shape(unit_ids))
    return tf.where(unit_ids > 0, tf.searchsorted(starts, places, side="right"), 0)


def _ends(unit_ids: tf.Tensor, num_words: tf.Tensor, cap: int) -> tf.Tensor:
    """int32 [B, L]: where a run of so many words ends (the place after it), if it begins there."""
    length = unit_ids.shape[1]
    padded = tf.pad(unit_ids, [[0, 0], [0, cap]])
    num_tokens = tf.ones_like(unit_ids)  # a special token stands alone
    goes_on, before = unit_ids > 0, unit_ids
    for distance in range(1, cap + 1):
        here = padded[:, distance : distance + length]
        num_tokens = tf.where(goes_on & (here != before), distance, num_tokens)  # a word ends
        goes_on &= (here > 0) & (here - unit_ids < num_words)
        before = here
    return tf.range(length) + num_tokens


def _starts(ends: tf.Tensor) -> tf.Tensor:
    """int32 [B, at least L], ascending: where runs begin when each begins at the end of another.

    Walking from run to run would take L steps. The places after 0, 1, 2, 3 … runs are doubled
    instead, by the table of where one is 1, 2, 4, 8 … runs later.
    """
    length = ends.shape[1]
    later = tf.pad(ends, [[0, 0], [0, 1]], constant_values=length)  # behind the row: stay there
    starts = tf.zeros_like(ends[:, :1])
    while starts.shape[1] < length:
        starts = tf.concat([starts, tf.gather(later, starts, batch_dims=1)], axis=1)
        later = tf.gather(later, later, batch_dims=1)
    return starts
