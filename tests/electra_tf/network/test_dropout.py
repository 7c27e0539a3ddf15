"""Dropout is a function of its seed and its place."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.network import dropout as dropout_module
from electra_tf.network.dropout import dropout, fold_in
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder

ONES = tf.ones((200, 500))
SEED = tf.constant([3, 4])


def test_the_same_seed_and_place_give_the_same_mask():
    first, second = (dropout(ONES, 0.3, SEED, "a") for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("seed", "path"), [([3, 5], "a"), ([4, 4], "a"), ([3, 4], "b")])
def test_another_seed_or_place_gives_an_independent_mask(seed, path):
    first = dropout(ONES, 0.5, SEED, "a").numpy() > 0
    second = dropout(ONES, 0.5, tf.constant(seed), path).numpy() > 0
    # 100,000 coins: five standard errors are 0.008.
    assert abs((first == second).mean() - 0.5) < 0.008


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_asked_share_is_dropped_and_the_mean_is_kept(rate):
    values = dropout(ONES, rate, SEED, "a").numpy()
    assert abs((values == 0).mean() - rate) < 0.008
    # Rates are multiples of 2^-16; the enlargement is that of the rate in force.
    in_force = round(rate * 2**16) / 2**16
    np.testing.assert_allclose(values[values > 0], 1 / (1 - in_force), rtol=1e-6)


def test_rate_zero_and_no_seed_hand_the_tensor_itself_back():
    assert dropout(ONES, 0.0, SEED, "a") is ONES
    assert dropout(ONES, 0.5, None, "a") is ONES


def test_rate_one_drops_everything():
    np.testing.assert_array_equal(dropout(ONES, 1.0, SEED, "a"), 0.0)


def test_neighbours_are_independent():
    # Two draws share an integer.
    kept = dropout(ONES, 0.5, SEED, "a").numpy().reshape(-1, 2) > 0
    assert abs((kept[:, 0] == kept[:, 1]).mean() - 0.5) < 0.012  # 50,000 coins


@pytest.mark.parametrize("size", [1, 2, 7])
def test_any_number_of_values_is_served(size):
    several = [dropout(tf.ones(size), 0.5, tf.constant([0, i]), "a").numpy() for i in range(50)]
    np.testing.assert_array_equal(np.unique(several), [0.0, 2.0])


def test_a_rate_next_to_one_stays_finite():
    assert np.isfinite(dropout(ONES, 1 - 1e-9, SEED, "a")).all()


@pytest.mark.parametrize("values", [ONES, tf.ones((3, 7))])
def test_xla_draws_the_same_mask(values):
    compiled = tf.function(lambda seed: dropout(values, 0.1, seed, "a"), jit_compile=True)
    np.testing.assert_array_equal(compiled(SEED), dropout(values, 0.1, SEED, "a"))


def test_folding_depends_on_seed_and_path():
    seeds = {
        tuple(fold_in(tf.constant(seed), path).numpy())
        for seed in ([0, 1], [1, 0])
        for path in ("a", "b")
    }
    assert len(seeds) == 4


def test_the_gradient_passes_where_the_value_passed():
    with tf.GradientTape() as tape:
        tape.watch(ONES)
        values = dropout(ONES, 0.3, SEED, "a")
    np.testing.assert_array_equal(tape.gradient(values, ONES), values)


# --- in the encoder --------------------------------------------------------------------------


def test_an_encoder_without_a_seed_drops_nothing(make_config, batch):
    config = make_config(hidden_dropout_rate=0.5, attention_dropout_rate=0.5)
    silent = make_config()
    noisy = Encoder(config, Embeddings(config, 1), 1)
    quiet = Encoder(silent, Embeddings(silent, 1), 1)
    np.testing.assert_array_equal(noisy(*batch), quiet(*batch))
    np.testing.assert_array_equal(quiet(*batch, dropout_seed=SEED), quiet(*batch))


def test_an_encoder_repeats_itself_for_one_seed_and_differs_for_another(make_config, batch):
    config = make_config(hidden_dropout_rate=0.5, attention_dropout_rate=0.5)
    encoder = Encoder(config, Embeddings(config, 1), 1)
    first, again = (encoder(*batch, dropout_seed=SEED) for _ in range(2))
    other = encoder(*batch, dropout_seed=tf.constant([3, 5]))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1


@pytest.mark.parametrize("place", ["hidden_dropout_rate", "attention_dropout_rate"])
def test_each_of_the_two_rates_is_at_work(make_config, batch, place):
    config = make_config(**{place: 0.5})
    encoder = Encoder(config, Embeddings(config, 1), 1)
    assert np.abs(encoder(*batch, dropout_seed=SEED) - encoder(*batch)).max() > 1e-3


def test_two_networks_meet_the_shared_embeddings_with_masks_of_their_own(make_config, batch):
    config = make_config(hidden_dropout_rate=0.5, embedding_size=16)
    embeddings = Embeddings(config, 1)
    first, second = (
        Encoder(config, embeddings, 1, name=name).hidden_states(*batch, SEED)[0].numpy() == 0
        for name in ("discriminator", "generator")
    )
    assert 0.3 < (first != second).mean() < 0.7


def test_no_two_places_of_a_step_share_a_mask(make_config, batch, monkeypatch):
    paths = []
    original = dropout_module.fold_in
    monkeypatch.setattr(
        dropout_module, "fold_in", lambda seed, path: paths.append(path) or original(seed, path)
    )
    config = make_config(hidden_dropout_rate=0.5, attention_dropout_rate=0.5)
    Encoder(config, Embeddings(config, 1), 1)(*batch, dropout_seed=SEED)
    # Embeddings, then attention probabilities, attention output, feed-forward output a layer.
    assert len(paths) == len(set(paths)) == 1 + 3 * config.num_hidden_layers
