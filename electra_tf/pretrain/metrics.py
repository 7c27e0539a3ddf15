"""How well both networks do: sums that add up over steps and replicas, and what they say.

Deviations from google-research/electra at 8a46635, `run_pretraining.py` (metric_fn): padding never
counts (there the AUC counts it, as easy negatives); the AUC is read off fine bins of logits (there
200 thresholds of probabilities); discriminator_loss is a mean over tokens, as the training loss is
(there over examples, of each one's mean).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from electra_tf.batches import CorruptedBatch, MaskedBatch, is_real
from electra_tf.pretrain.losses import masked_lm_losses, replaced_token_losses

# The AUC is read off a histogram of the logits: bins of 0.01 between -15 and 15.
_LOGIT_BINS = 3000
_LOGIT_LIMIT = 15.0

# Of text that was corrupted without a generator; looked at in evaluations alone.
_UNIGRAM = ("unigram_logits_of_originals", "unigram_logits_of_replaced")

SUM_SHAPES: Mapping[str, tuple[int, ...]] = {
    "masked_tokens": (),
    "masked_lm_loss": (),
    "masked_lm_correct": (),
    "hidden_tokens": (),
    "hidden_lm_loss": (),
    "hidden_lm_correct": (),
    "drawn_correct": (),
    "real_tokens": (),
    "discriminator_loss": (),
    "replaced": (),
    "judged_replaced": (),
    "judged_replaced_rightly": (),
    "judged_rightly": (),
    "logits_of_originals": (_LOGIT_BINS,),
    "logits_of_replaced": (_LOGIT_BINS,),
    **dict.fromkeys(_UNIGRAM, (_LOGIT_BINS,)),
}


def electra_sums(
    masked: MaskedBatch,
    generator_logits: tf.Tensor,
    corrupted: CorruptedBatch,
    discriminator_logits: tf.Tensor,
) -> dict[str, tf.Tensor]:
    """What is added up, for one batch.

    Args:
      masked: what the generator saw.
      generator_logits: float32 [B, M, V].
      corrupted: what the discriminator saw.
      discriminator_logits: float32 [B, L].

    Returns:
      float32 sums by name, of the shapes in `SUM_SHAPES`.
    """
    slots = masked.weights
    # Some slots show their own token; to fill those takes no understanding.
    shown_ids = tf.gather(masked.input_ids, masked.positions, batch_dims=1)
    hidden = slots * tf.cast(shown_ids != masked.labels, tf.float32)
    lm_losses = masked_lm_losses(generator_logits, masked.labels, slots)
    real = tf.cast(is_real(masked.original_ids), tf.float32)
    replaced = corrupted.is_replaced * real
    judged = tf.cast(discriminator_logits > 0, tf.float32) * real
    became = tf.gather(corrupted.input_ids, masked.positions, batch_dims=1)
    guess = tf.argmax(generator_logits, axis=-1, output_type=tf.int32)
    is_right = tf.cast(guess == masked.labels, tf.float32)
    total = tf.reduce_sum
    return {
        "masked_tokens": total(slots),
        "masked_lm_loss": total(lm_losses),
        "masked_lm_correct": total(slots * is_right),
        "hidden_tokens": total(hidden),
        "hidden_lm_loss": total(hidden * lm_losses),
        "hidden_lm_correct": total(hidden * is_right),
        # Where slots share a position (mode `reference`), what stands there in the end counts;
        # upstream's sampled_masked_lm_accuracy looks at each drawn token.
        "drawn_correct": total(slots * tf.cast(became == masked.labels, tf.float32)),
        "real_tokens": total(real),
        "discriminator_loss": total(
            replaced_token_losses(discriminator_logits, corrupted.is_replaced, real)
        ),
        "replaced": total(replaced),
        "judged_replaced": total(judged),
        "judged_replaced_rightly": total(judged * replaced),
        "judged_rightly": total(real * tf.cast(judged == replaced, tf.float32)),
        "logits_of_originals": _histogram(discriminator_logits, real - replaced),
        "logits_of_replaced": _histogram(discriminator_logits, replaced),
    }


def unigram_sums(
    masked: MaskedBatch, corrupted: CorruptedBatch, discriminator_logits: tf.Tensor
) -> dict[str, tf.Tensor]:
    """What is added up where replacements are drawn by frequency alone.

    Args:
      masked: where the slots are.
      corrupted: what the discriminator saw.
      discriminator_logits: float32 [B, L].
    """
    real = tf.cast(is_real(masked.original_ids), tf.float32)
    replaced = corrupted.is_replaced * real
    weights = (real - replaced, replaced)
    return {
        name: _histogram(discriminator_logits, weight)
        for name, weight in zip(_UNIGRAM, weights, strict=True)
    }


def no_unigram_sums() -> dict[str, tf.Tensor]:
    """Zeros of the same shapes, for training."""
    return {name: tf.zeros([_LOGIT_BINS]) for name in _UNIGRAM}


def electra_metrics(sums: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The numbers people read.

    Args:
      sums: totals over any number of batches, by the names of `SUM_SHAPES`.

    Returns:
      masked_lm_loss (nats) and masked_lm_accuracy over all slots; hidden_lm_loss and
      hidden_lm_accuracy over those that do not show their own token, which alone compare with the
      unigram entropy; drawn_accuracy (drawn token = original); discriminator_loss (nats),
      discriminator_auc, discriminator_accuracy, majority_accuracy (what "nothing is
      replaced" would score),
      discriminator_precision, discriminator_recall; replaced_rate and masked_rate (of the real
      tokens, [CLS] and [SEP] included; slots that share a position count each). A ratio over
      nothing is 0.0, the AUC then 0.5.
      Evaluations add unigram_auc: the AUC where replacements are drawn by frequency alone. A weak
      generator makes discriminator_auc look well, but not this.
    """
    s = {name: np.asarray(value, np.float64) for name, value in sums.items()}
    masked, real = s["masked_tokens"], s["real_tokens"]
    metrics = {
        "masked_lm_loss": _ratio(s["masked_lm_loss"], masked),
        "masked_lm_accuracy": _ratio(s["masked_lm_correct"], masked),
        "hidden_lm_loss": _ratio(s["hidden_lm_loss"], s["hidden_tokens"]),
        "hidden_lm_accuracy": _ratio(s["hidden_lm_correct"], s["hidden_tokens"]),
        "drawn_accuracy": _ratio(s["drawn_correct"], masked),
        "discriminator_loss": _ratio(s["discriminator_loss"], real),
        "discriminator_auc": _auc(s["logits_of_originals"], s["logits_of_replaced"]),
        "discriminator_accuracy": _ratio(s["judged_rightly"], real),
        "majority_accuracy": _ratio(real - s["replaced"], real),
        "discriminator_precision": _ratio(s["judged_replaced_rightly"], s["judged_replaced"]),
        "discriminator_recall": _ratio(s["judged_replaced_rightly"], s["replaced"]),
        "replaced_rate": _ratio(s["replaced"], real),
        "masked_rate": _ratio(masked, real),
    }
    blind = [s[name] for name in _UNIGRAM]
    return metrics | ({"unigram_auc": _auc(*blind)} if blind[0].any() else {})


def _histogram(logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """float32 [bins]: how much weight falls into each bin of logits."""
    scaled = (logits + _LOGIT_LIMIT) * (_LOGIT_BINS / (2 * _LOGIT_LIMIT))
    bins = tf.cast(tf.clip_by_value(scaled, 0.0, _LOGIT_BINS - 1.0), tf.int32)
    return tf.math.unsorted_segment_sum(
        tf.reshape(weights, [-1]), tf.reshape(bins, [-1]), _LOGIT_BINS
    )


def _auc(negatives: np.ndarray, positives: np.ndarray) -> float:
    """Chance that a replaced token has a higher logit than an original one; ties count half."""
    below = np.cumsum(negatives) - negatives
    wins = (positives * (below + negatives / 2)).sum()
    pairs = positives.sum() * negatives.sum()
    return float(wins / pairs) if pairs else 0.5


def _ratio(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part / whole) if whole else 0.0
