"""The numbers people read, by hand, against a count over all pairs, and against the reference."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import CorruptedBatch, MaskedBatch
from electra_tf.pretrain.metrics import (
    SUM_SHAPES,
    electra_metrics,
    electra_sums,
    no_unigram_sums,
    unigram_sums,
)

ROOT = os.environ.get("ELECTRA_TF_REFERENCE")


def batches(original, positions, labels, weights, corrupted, shown=None):
    """What a generator and a discriminator saw; is_replaced follows from both texts.

    `shown` is the generator's input; without it every slot shows its own token.
    """
    original, corrupted = np.array(original, np.int32), np.array(corrupted, np.int32)
    segments = tf.zeros(original.shape, tf.int32)
    masked = MaskedBatch(
        tf.constant(original if shown is None else shown),
        segments,
        tf.constant(positions),
        tf.constant(labels),
        tf.constant(weights, tf.float32),
        tf.constant(original),
    )
    is_replaced = tf.constant((original != corrupted).astype(np.float32))
    return masked, CorruptedBatch(tf.constant(corrupted), segments, is_replaced)


def numbers(*arguments) -> dict[str, float]:
    sums = electra_sums(*arguments) | no_unigram_sums()
    return electra_metrics({name: value.numpy() for name, value in sums.items()})


@pytest.fixture
def small():
    """6 real tokens and 2 of padding; 3 slots, 1 unused; one drawn token is the original."""
    masked, corrupted = batches(
        original=[[2, 5, 6, 7, 8, 3, 0, 0]],
        positions=[[1, 3, 0]],
        labels=[[5, 7, 2]],
        weights=[[1, 1, 0]],
        corrupted=[[2, 9, 6, 7, 8, 3, 0, 0]],
        shown=[[2, 4, 6, 7, 8, 3, 0, 0]],  # [MASK] in the first slot, the second keeps its token
    )
    guesses = np.zeros((1, 3, 10), np.float32)
    guesses[0, 0, 5] = math.log(9.0)  # 9 / (9 + 9): right, with a chance of 1/2
    guesses[0, 1, 8] = 1e-3  # wrong, with a chance of 1/10 for each token
    guesses[0, 2, 2] = 100.0  # unused: right, but counts nothing
    log_3 = math.log(3.0)
    # replaced at 1; judged replaced at 1, 4 and, in the padding, 6.
    judgements = [[-log_3, log_3, -log_3, -log_3, log_3, -log_3, 50.0, -50.0]]
    return masked, tf.constant(guesses), corrupted, tf.constant(judgements)


def test_every_metric_by_hand(small):
    found = numbers(*small)
    expected = {
        "masked_lm_loss": (math.log(2) + math.log(10)) / 2,
        "masked_lm_accuracy": 1 / 2,
        "hidden_lm_loss": math.log(2),
        "hidden_lm_accuracy": 1.0,
        "drawn_accuracy": 1 / 2,
        "discriminator_loss": (5 * -math.log(3 / 4) + -math.log(1 / 4)) / 6,
        # the replaced token beats 4 of 5 originals and ties with one
        "discriminator_auc": (4 + 0.5) / 5,
        "discriminator_accuracy": 5 / 6,
        "majority_accuracy": 5 / 6,
        "discriminator_precision": 1 / 2,
        "discriminator_recall": 1.0,
        "replaced_rate": 1 / 6,
        "masked_rate": 2 / 6,
    }
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-3), name


def test_sums_have_the_promised_names_and_shapes(small):
    sums = electra_sums(*small) | no_unigram_sums()
    assert {name: tuple(value.shape) for name, value in sums.items()} == dict(SUM_SHAPES)
    assert all(value.dtype == tf.float32 for value in sums.values())


def test_padding_counts_nowhere(small):
    masked, guesses, corrupted, judgements = small
    wild = tf.concat([judgements[:, :6], [[-80.0, 80.0]]], axis=1)
    columns = (masked.original_ids, wild, masked.input_ids)
    longer = [tf.pad(column, [[0, 0], [0, 3]]) for column in columns]
    assert numbers(*small) == numbers(masked, guesses, corrupted, wild)
    padded = masked._replace(
        input_ids=longer[2], original_ids=longer[0], segment_ids=tf.zeros_like(longer[0])
    )
    padded_corrupted = CorruptedBatch(
        tf.pad(corrupted.input_ids, [[0, 0], [0, 3]]),
        tf.zeros_like(longer[0]),
        tf.pad(corrupted.is_replaced, [[0, 0], [0, 3]]),
    )
    assert numbers(padded, guesses, padded_corrupted, longer[1]) == numbers(*small)


def test_sums_of_two_batches_add_up_to_those_of_both_together(small):
    once = electra_sums(*small)
    masked, guesses, corrupted, judgements = (
        type(part)(*[None if c is None else tf.concat([c, c], 0) for c in part])
        if isinstance(part, tuple)
        else part
        for part in small
    )
    double = electra_sums(
        masked, tf.concat([guesses] * 2, 0), corrupted, tf.concat([judgements] * 2, 0)
    )
    for name, value in double.items():
        np.testing.assert_allclose(value, 2 * once[name], rtol=1e-6, err_msg=name)


def test_slots_of_one_position_count_each_and_by_what_stands_there_in_the_end():
    """As the masking mode `reference` has them: two slots at 1, one at 3."""
    masked, corrupted = batches(
        original=[[2, 5, 6, 7, 3]],
        positions=[[1, 1, 3]],
        labels=[[5, 5, 7]],
        weights=[[1, 1, 1]],
        corrupted=[[2, 9, 6, 7, 3]],
        shown=[[2, 8, 6, 7, 3]],  # a random token at 1; the last slot keeps its own
    )
    found = numbers(masked, tf.zeros((1, 3, 10)), corrupted, tf.zeros((1, 5)))
    assert found["drawn_accuracy"] == pytest.approx(1 / 3)
    assert found["masked_rate"] == pytest.approx(3 / 5)
    assert found["replaced_rate"] == pytest.approx(1 / 5)
    # A random token hides the original as [MASK] does.
    sums = electra_sums(masked, tf.zeros((1, 3, 10)), corrupted, tf.zeros((1, 5)))
    assert float(sums["hidden_tokens"]) == 2


def test_ratios_over_nothing_are_0_and_the_auc_is_a_half():
    nothing = electra_metrics({name: np.zeros(shape) for name, shape in SUM_SHAPES.items()})
    assert nothing.pop("discriminator_auc") == 0.5
    assert set(nothing.values()) == {0.0}


def exact_auc(judgements, is_replaced) -> float:
    """All pairs of a replaced and an original token, one by one."""
    wins = [
        (positive > negative) + (positive == negative) / 2
        for positive in judgements[is_replaced]
        for negative in judgements[~is_replaced]
    ]
    return float(np.mean(wins))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("shift", "rate"), [(0.0, 0.5), (1.5, 0.1), (-3.0, 0.2), (6.0, 0.5)])
def test_the_auc_is_that_of_all_pairs(shift, rate, ties):
    rng = np.random.default_rng(round(10 * shift) % 97)
    is_replaced = rng.random(600) < rate
    judgements = rng.normal(is_replaced * shift, 1.5).astype(np.float32)
    if ties:  # in the middle of a bin, so that equal ones fall into the same
        judgements = np.round(judgements) + np.float32(0.005)
    original = np.full((1, 600), 7, np.int32)
    arguments = batches(
        original, [[0]], [[7]], [[0]], np.where(is_replaced, 8, original).astype(np.int32)
    )
    found = numbers(
        arguments[0], tf.zeros([1, 1, 10]), arguments[1], tf.constant(judgements[np.newaxis])
    )["discriminator_auc"]
    expected = exact_auc(judgements, is_replaced)
    assert found == pytest.approx(expected, abs=1e-6 if ties else 1e-3)


def test_logits_off_the_scale_land_in_the_last_bins():
    arguments = batches([[7, 7, 7, 7]], [[0]], [[7]], [[0]], [[8, 7, 8, 7]])
    judgements = tf.constant([[1e9, -1e9, 15.0, -15.0]])
    sums = electra_sums(arguments[0], tf.zeros([1, 1, 10]), arguments[1], judgements)
    assert sums["logits_of_replaced"][-1] == 2
    assert sums["logits_of_originals"][0] == 2


# --- the reference ---------------------------------------------------------------------------


@pytest.mark.reference
@pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE")
def test_metrics_are_those_of_the_reference_where_both_mean_the_same():
    """Not compared: AUC, where the reference counts padding; its loss, a mean of row means."""
    folder = Path(ROOT) / "a_pretraining"
    theirs = json.loads((folder / "metrics.json").read_text())
    outputs, inputs = np.load(folder / "outputs.npz"), np.load(folder / "batches.npz")
    ids = tf.constant(inputs["input_ids"][0])
    segments = tf.constant(inputs["segment_ids"][0])
    masked = MaskedBatch(
        tf.constant(outputs["masked_input_ids"]),
        segments,
        tf.constant(outputs["masked_lm_positions"]),
        tf.constant(outputs["masked_lm_ids"]),
        tf.constant(outputs["masked_lm_weights"]),
        ids,
    )
    corrupted = CorruptedBatch(
        tf.constant(outputs["corrupted_input_ids"]),
        segments,
        tf.constant(outputs["is_fake"].astype(np.float32)),
    )
    judgements = tf.constant(outputs["disc_logits"])
    ours = numbers(masked, tf.constant(outputs["mlm_logits"]), corrupted, judgements)
    for name, reference_name in (
        ("masked_lm_loss", "masked_lm_loss"),
        ("masked_lm_accuracy", "masked_lm_accuracy"),
        ("discriminator_accuracy", "disc_accuracy"),
        ("discriminator_precision", "disc_precision"),
        ("discriminator_recall", "disc_recall"),
    ):
        assert ours[name] == pytest.approx(theirs[reference_name], rel=1e-5), name
    # Ours is the training loss: a mean over all real tokens.
    assert ours["discriminator_loss"] == pytest.approx(float(outputs["disc_loss"]), rel=1e-5)
    # The AUC over real tokens, counted pair by pair; a tie within a bin moves it by 1/464.
    real = inputs["input_mask"][0] == 1
    is_fake = outputs["is_fake"][real] == 1
    expected = exact_auc(outputs["disc_logits"][real], is_fake)
    assert ours["discriminator_auc"] == pytest.approx(expected, abs=3 / 464)


def test_the_auc_on_unigram_replacements_is_told_only_where_it_was_looked_at():
    masked, corrupted = batches(
        original=[[2, 5, 6, 7, 3, 0]],
        positions=[[1, 2]],
        labels=[[5, 6]],
        weights=[[1, 1]],
        corrupted=[[2, 6, 6, 7, 3, 0]],
    )
    # Replaced at 1. Of the 4 originals two lie below its logit and one level with it; padding at
    # the end would lie below, too, but counts nothing.
    judgements = tf.constant([[-2.0, 1.0, 1.0, 3.0, 0.0, -9.0]])
    sums = dict.fromkeys(SUM_SHAPES, np.zeros(()))
    blind = unigram_sums(masked, corrupted, judgements)
    found = electra_metrics(sums | {name: value.numpy() for name, value in blind.items()})
    assert found["unigram_auc"] == pytest.approx(2.5 / 4)
    without = electra_metrics(sums | {n: v.numpy() for n, v in no_unigram_sums().items()})
    assert "unigram_auc" not in without
