"""ELECTRA as a whole: what both networks look at, what the losses start from, what chance does."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import StepKey, TokenBatch, is_real
from electra_tf.pretrain.losses import mean_over, replaced_token_losses
from electra_tf.pretrain.objectives.electra import Electra
from electra_tf.pretrain.sampling import corrupt
from electra_tf.training.optimizer import Optimizer

SEED = tf.constant([5, 6])
KEY = StepKey(SEED, tf.constant(0))
ROWS = [[2, 1, 3, 1, 2, 1], [1, 1, 2, 1], [4, 2]]


@pytest.fixture
def rows(lay_out):
    return lay_out(ROWS, 16)


def prepared(objective, rows):
    return objective.prepare(rows, KEY)


def test_an_encoder_looks_at_id_0_where_it_is_said_to_be_a_token(make_run, vocabulary):
    encoder = Electra(make_run(), vocabulary).discriminator
    ids = tf.constant([[2, 5, 0, 6, 3, 0]])
    segments = tf.zeros_like(ids)
    default = encoder(ids, segments)
    np.testing.assert_array_equal(encoder(ids, segments, is_real=ids != 0), default)
    seen = encoder(ids, segments, is_real=tf.range(6)[tf.newaxis] < 5)
    assert np.abs(seen - default)[0, 0].max() > 1e-4
    # Where it is no token, the others do not notice what it is.
    other = encoder(tf.constant([[2, 5, 9, 6, 3, 0]]), segments, is_real=ids != 0)
    np.testing.assert_allclose(other[0, 0], default[0, 0], atol=1e-6)


def test_the_discriminator_looks_at_a_drawn_pad(make_run, rows, vocabulary):
    objective = Electra(make_run(masking={"mask_rate": 0.5}), vocabulary)
    bias = np.zeros(40, np.float32)
    bias[0] = 1000.0  # the generator draws nothing but [PAD]
    objective.masked_lm_head.output_bias.assign(bias)
    masked, counts = prepared(objective, rows)
    _, sums = objective.loss(masked, counts, KEY, training=False)

    corrupted = corrupt(masked, tf.zeros_like(masked.positions))
    assert np.any((corrupted.input_ids == 0) & (rows.input_ids != 0))
    real = is_real(rows.input_ids)
    hidden = objective.discriminator(corrupted.input_ids, corrupted.segment_ids, is_real=real)
    expected = replaced_token_losses(
        objective.replaced_token_head(hidden), corrupted.is_replaced, tf.cast(real, tf.float32)
    )
    np.testing.assert_allclose(sums["discriminator_loss"], tf.reduce_sum(expected), rtol=1e-6)
    assert sums["replaced"] == sums["masked_tokens"]


def test_both_networks_read_each_packed_sequence_as_if_it_stood_alone(
    make_run, lay_out, vocabulary
):
    """Everything is masked and always the same token drawn, so masks and draws are no chance."""
    run = make_run(masking={"mask_rate": 1.0, "mask_token_rate": 1.0})
    objective = Electra(run, vocabulary)
    bias = np.zeros(40, np.float32)
    bias[9] = 1000.0
    objective.masked_lm_head.output_bias.assign(bias)
    first, second = lay_out([[2, 1]], 5), lay_out([[1, 3, 2]], 8)
    units = second.unit_ids + 2 * tf.cast(second.unit_ids > 0, tf.int32)
    columns = [tf.concat(pair, axis=1) for pair in zip(first[:2], second[:2], strict=True)]
    packed = TokenBatch(
        *[tf.pad(column, [[0, 0], [0, 3]]) for column in columns],
        tf.pad(tf.concat([first.unit_ids, units], axis=1), [[0, 0], [0, 3]]),
        tf.constant([[1] * 5 + [2] * 8 + [0] * 3]),
    )

    def sums(batch):
        masked, counts = prepared(objective, batch)
        return objective.loss(masked, counts, KEY, training=False)[1]

    together, apart = sums(packed), [sums(batch) for batch in (first, second)]
    for name in ("masked_tokens", "masked_lm_loss", "real_tokens", "discriminator_loss"):
        expected = sum(float(part[name]) for part in apart)
        assert float(together[name]) == pytest.approx(expected, rel=1e-5), name
    without = sums(TokenBatch(*packed[:3]))
    assert float(without["discriminator_loss"]) != pytest.approx(
        float(together["discriminator_loss"]), rel=1e-5
    )


def test_the_loss_starts_at_the_log_of_the_vocabulary_plus_fifty_times_log_2(
    make_run, rows, vocabulary
):
    objective = Electra(make_run(masking={"mask_rate": 0.5}), vocabulary)
    masked, counts = prepared(objective, rows)
    loss, sums = objective.loss(masked, counts, KEY, training=True)
    expected = math.log(40) + 50 * math.log(2)
    assert abs(float(loss) - expected) < 0.5
    metrics = objective.metrics({name: value.numpy() for name, value in sums.items()})
    assert metrics["loss"] == pytest.approx(float(loss), rel=1e-5)
    assert metrics["masked_lm_loss"] == pytest.approx(math.log(40), abs=0.1)
    assert metrics["discriminator_loss"] == pytest.approx(math.log(2), abs=0.01)


@pytest.mark.parametrize("mode", ["token", "whole_word", "ngram", "span", "reference"])
def test_a_step_in_any_masking_mode_gives_a_finite_loss_and_moves_every_weight(
    make_run, lay_out, vocabulary, mode
):
    layers = {"num_hidden_layers": 1}
    run = make_run(
        discriminator=layers,
        generator=layers,
        masking={"mode": mode, "mask_rate": 0.5, "mask_token_rate": 0.8, "random_token_rate": 0.1},
    )
    objective = Electra(run, vocabulary)
    rows = lay_out([[2, 1, 3, 0, 2, 1], [1] * 9, [4, 2, 4], [1]], 16)
    masked, counts = prepared(objective, rows)
    variables = [v.value for v in objective.trained_weights]
    with tf.GradientTape() as tape:
        loss, sums = objective.loss(masked, counts, KEY, training=True)
    slopes = tape.gradient(loss, variables, unconnected_gradients="zero")
    assert abs(float(loss) - (math.log(40) + 50 * math.log(2))) < 1
    assert float(sums["masked_tokens"]) == float(tf.reduce_sum(masked.weights)) > 8

    before = [v.numpy() for v in objective.trained_weights]
    Optimizer(run.optimizer, objective.trained_weights).apply(
        [tf.convert_to_tensor(slope) for slope in slopes],
        tf.constant(1e-3),
        tf.constant(0, tf.int64),
    )
    for weights, variable in zip(before, objective.trained_weights, strict=True):
        assert np.all(np.isfinite(variable)), variable.path
        assert np.any(weights != variable.numpy()), variable.path


def test_the_losses_are_divided_by_the_counts_that_are_handed_in(make_run, rows, vocabulary):
    objective = Electra(make_run(), vocabulary)
    masked, counts = prepared(objective, rows)
    assert float(counts["real_tokens"]) == 12 + 7 + 8
    assert float(counts["masked_tokens"]) == float(tf.reduce_sum(masked.weights))
    loss, sums = objective.loss(masked, counts, KEY, training=False)
    parts = [sums["masked_lm_loss"], sums["discriminator_loss"]]
    expected = mean_over(parts[0], counts["masked_tokens"]) + 50 * mean_over(
        parts[1], counts["real_tokens"]
    )
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    half = {name: 2 * count for name, count in counts.items()}
    np.testing.assert_allclose(
        objective.loss(masked, half, KEY, training=False)[0], loss / 2, rtol=1e-6
    )


def test_another_seed_draws_other_tokens_and_drops_other_values(make_run, rows, vocabulary):
    objective = Electra(make_run(masking={"mask_rate": 1.0}), vocabulary)
    masked, counts = prepared(objective, rows)

    def drawn(seed):
        return objective.loss(masked, counts, StepKey(tf.constant(seed), 0), training=False)[1]

    np.testing.assert_array_equal(
        drawn([5, 6])["discriminator_loss"], drawn([5, 6])["discriminator_loss"]
    )
    assert drawn([5, 6])["discriminator_loss"] != drawn([5, 7])["discriminator_loss"]

    rates = {"hidden_dropout_rate": 0.3}
    objective = Electra(make_run(discriminator=rates, generator=rates), vocabulary)

    def guessed(seed, training=True):
        sums = objective.loss(masked, counts, StepKey(tf.constant(seed), 0), training=training)[1]
        return float(sums["masked_lm_loss"])

    assert guessed([5, 6]) == guessed([5, 6])
    assert guessed([5, 6]) != guessed([5, 7])
    assert guessed([5, 6], training=False) == guessed([5, 7], training=False)


def test_compiled_and_uncompiled_losses_agree_with_dropout_and_draws(make_run, rows, vocabulary):
    rates = {"hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.1}
    run = make_run(discriminator=rates, generator=rates, masking={"mode": "span", "mask_rate": 0.5})
    objective = Electra(run, vocabulary)
    masked, counts = prepared(objective, rows)

    def step(key):
        return objective.loss(masked, counts, key, training=True)

    loss, sums = tf.function(step)(KEY)
    compiled_loss, compiled = tf.function(step, jit_compile=True)(KEY)
    np.testing.assert_allclose(compiled_loss, loss, rtol=1e-5)
    for name in ("masked_lm_loss", "discriminator_loss", "replaced", "drawn_correct"):
        np.testing.assert_allclose(compiled[name], sums[name], rtol=1e-5, err_msg=name)


def test_both_losses_train_the_shared_embeddings_and_draws_pass_no_gradient(
    make_run, rows, vocabulary
):
    objective = Electra(make_run(objective={"generator_weight": 0.0}), vocabulary)
    masked, counts = prepared(objective, rows)
    with tf.GradientTape() as tape:
        loss, _ = objective.loss(masked, counts, KEY, training=False)
    variables = [v.value for v in objective.trained_weights]
    slopes = dict(
        zip(
            [v.path for v in objective.trained_weights],
            tape.gradient(loss, variables, unconnected_gradients="zero"),
            strict=True,
        )
    )
    assert np.abs(tf.convert_to_tensor(slopes["embeddings/word_embeddings"])).max() > 0
    for path, slope in slopes.items():
        if path.startswith(("generator/", "masked_lm_head/")):
            assert not np.any(tf.convert_to_tensor(slope)), path


def test_every_variable_is_trained_once_under_a_path_of_its_own(make_run, vocabulary):
    weights = Electra(make_run(), vocabulary).trained_weights
    assert len({id(v) for v in weights}) == len({v.path for v in weights}) == len(weights)
    # 5 of the embeddings, 2 × (projection 2 + 2 layers × 16), heads 5 and 4.
    assert len(weights) == 5 + 2 * (2 + 2 * 16) + 5 + 4


def test_evaluations_alone_look_at_unigram_replacements(make_run, rows, vocabulary):
    objective = Electra(make_run(masking={"mask_rate": 0.5}), vocabulary)
    masked, counts = prepared(objective, rows)

    def found(training):
        sums = objective.loss(masked, counts, KEY, training)[1]
        return objective.metrics({name: value.numpy() for name, value in sums.items()})

    assert 0 <= found(training=False)["unigram_auc"] <= 1
    assert "unigram_auc" not in found(training=True)
