"""Names, shapes and first values of the variables, and how arrays get into them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.encoder_folder import expected_shapes, parameter_count
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder
from electra_tf.network.heads import MaskedLMHead, ReplacedTokenHead
from electra_tf.network.weights import assign_weights, named_weights


@pytest.mark.parametrize("embedding_size", [12, 16])
def test_the_names_and_shapes_of_an_encoder_folder_are_those_of_the_layers(
    make_config, make_networks, embedding_size
):
    config = make_config(embedding_size=embedding_size)
    _, encoder, masked_lm, replaced = make_networks(config)
    for kind, head in (("discriminator", replaced), ("generator", masked_lm)):
        named = named_weights(encoder) | named_weights(head)
        shapes = {name: tuple(variable.shape) for name, variable in named.items()}
        assert shapes == expected_shapes(config, kind)


def test_a_small_model_has_the_published_number_of_parameters(make_config):
    config = make_config(
        vocab_size=21128,
        embedding_size=128,
        hidden_size=256,
        num_hidden_layers=12,
        intermediate_size=1024,
        max_position_embeddings=512,
    )
    embeddings = Embeddings(config, 0)
    encoder = Encoder(config, embeddings, 0, name="discriminator")
    head = ReplacedTokenHead(config, 0)
    count = parameter_count(config, "discriminator")
    assert encoder.count_params() == count.backbone == 12_280_576
    assert head.count_params() == count.head


def test_paths_are_stable_and_begin_with_the_owner(make_config, make_networks):
    _, encoder, masked_lm, replaced = make_networks(make_config(), name="discriminator")
    paths = {variable.path for variable in encoder.weights}
    assert "embeddings/word_embeddings" in paths
    assert "embeddings/layer_norm/gamma" in paths
    assert "discriminator/embeddings_project/kernel" in paths
    assert "discriminator/layer_1/attention/query/kernel" in paths
    assert "discriminator/layer_1/attention/layer_norm/beta" in paths
    assert "discriminator/layer_1/feed_forward/output/bias" in paths
    assert "masked_lm_head/output_bias" in {variable.path for variable in masked_lm.own_weights}
    assert "replaced_token_head/dense/kernel" in {v.path for v in replaced.own_weights}


def test_names_in_a_folder_do_not_depend_on_the_names_of_the_layers(make_config):
    config = make_config()
    embeddings = Embeddings(config, 1, name="tables")
    encoder = Encoder(config, embeddings, 1, name="teacher")
    head = ReplacedTokenHead(config, 1, name="judge")
    named = named_weights(encoder) | named_weights(head)
    assert set(named) == set(expected_shapes(config, "discriminator"))


def test_biases_and_layer_norms_and_only_they_carry_the_words_weight_decay_looks_for(
    make_config, make_networks
):
    for layer in make_networks(make_config()):
        for variable in layer.own_weights:
            is_vector = len(variable.shape) == 1
            spared = re.search("layer_norm|LayerNorm|bias", variable.path) is not None
            assert spared == is_vector, variable.path


def test_two_encoders_and_the_masked_lm_head_see_one_embedding_block(make_config, batch):
    config = make_config()
    embeddings = Embeddings(config, 1)
    discriminator = Encoder(config, embeddings, 1, name="discriminator")
    generator = Encoder(config, embeddings, 1, name="generator")
    head = MaskedLMHead(config, embeddings, 1)
    for layer in (discriminator, generator, head):
        assert layer.embeddings.word_embeddings is embeddings.word_embeddings
    shared = named_weights(generator)["embeddings/word_embeddings"]
    assert shared is named_weights(discriminator)["embeddings/word_embeddings"]
    before = [discriminator(*batch), generator(*batch), head(generator(*batch))]
    embeddings.word_embeddings.assign(tf.random.stateless_normal((40, 12), (1, 2)))
    after = [discriminator(*batch), generator(*batch), head(generator(*batch))]
    for old, new in zip(before, after, strict=True):
        assert np.abs(old - new).max() > 1e-2


def test_embeddings_are_counted_once(make_config):
    config = make_config()
    embeddings = Embeddings(config, 1)
    networks = [
        Encoder(config, embeddings, 1, name="discriminator"),
        Encoder(config, embeddings, 1, name="generator"),
        MaskedLMHead(config, embeddings, 1),
        ReplacedTokenHead(config, 1),
    ]
    every = [*embeddings.own_weights, *(v for layer in networks for v in layer.own_weights)]
    assert len({id(variable) for variable in every}) == len(every)
    assert len({variable.path for variable in every}) == len(every)
    count = parameter_count(config, "discriminator")
    own = parameter_count(config, "generator").own
    assert sum(int(np.prod(variable.shape)) for variable in every) == count.total + own


def test_both_networks_send_gradients_to_the_shared_tables(make_config, batch):
    config = make_config()
    embeddings = Embeddings(config, 1)
    for name in ("discriminator", "generator"):
        encoder = Encoder(config, embeddings, 1, name=name)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(encoder(*batch)[:, :, 0])
        tables = [variable.value for variable in embeddings.own_weights]
        for gradient in tape.gradient(loss, tables):
            assert np.abs(tf.convert_to_tensor(gradient)).max() > 0


def test_embeddings_of_another_width_are_refused(make_config):
    embeddings = Embeddings(make_config(), 1)
    with pytest.raises(ValueError, match=r"embedding_size is 16, but .* are 12 wide"):
        Encoder(make_config(embedding_size=16), embeddings, 1)


def test_an_unknown_vocabulary_size_is_refused(make_config):
    with pytest.raises(ValueError, match="vocab_size is null"):
        Embeddings(make_config(vocab_size=None), 1)


def test_an_input_longer_than_the_position_table_is_refused(make_config, make_networks):
    encoder = make_networks(make_config())[1]
    ids = tf.ones((1, 11), tf.int32)
    with pytest.raises(ValueError, match="11 tokens is longer than max_position_embeddings 10"):
        encoder(ids, ids)


# --- first values ----------------------------------------------------------------------------


def test_equal_seeds_give_equal_weights_whatever_the_order(make_config):
    config = make_config()
    first = Encoder(config, Embeddings(config, 3), 3)
    Encoder(config, Embeddings(config, 4), 4)
    second = Encoder(config, Embeddings(config, 3), 3)
    for ours, theirs in zip(first.weights, second.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_other_seeds_other_names_and_other_layers_give_other_weights(make_config):
    config = make_config()
    embeddings = Embeddings(config, 3)
    kernels = [
        named_weights(encoder)[f"layer_{index}/attention/{part}/kernel"].numpy()
        for encoder in (
            Encoder(config, embeddings, 3, name="discriminator"),
            Encoder(config, embeddings, 3, name="generator"),
            Encoder(config, embeddings, 4, name="discriminator"),
        )
        for index in (0, 1)
        for part in ("query", "key")
    ]
    assert len({kernel.tobytes() for kernel in kernels}) == len(kernels)


def test_kernels_and_tables_start_as_a_normal_cut_at_two_deviations(make_config):
    config = make_config(vocab_size=2000, hidden_size=64, intermediate_size=256)
    encoder = Encoder(config, Embeddings(config, 5), 5)
    named = named_weights(encoder)
    for name in ("embeddings/word_embeddings", "layer_0/feed_forward/intermediate/kernel"):
        values = named[name].numpy()
        # A standard normal cut at 2 has deviation 0.8796.
        assert abs(values.std() - 0.0176) < 0.0004
        assert abs(values.mean()) < 0.0005
        assert 0.039 < np.abs(values).max() <= 0.04


def test_the_projection_and_the_last_unit_start_glorot_uniform(make_config):
    config = make_config(hidden_size=64, embedding_size=32, num_attention_heads=1)
    encoder = Encoder(config, Embeddings(config, 5), 5)
    named = named_weights(encoder) | named_weights(ReplacedTokenHead(config, 5))
    limits = {
        "embeddings_project/kernel": (6 / (32 + 64)) ** 0.5,
        "replaced_token_head/output/kernel": (6 / (64 + 1)) ** 0.5,
    }
    for name, limit in limits.items():
        values = np.abs(named[name].numpy())
        assert 0.9 * limit < values.max() <= limit


def test_biases_start_at_zero_and_layer_norms_at_one_and_zero(make_config, make_networks):
    for layer in make_networks(make_config()):
        for variable in layer.own_weights:
            if variable.path.endswith("gamma"):
                np.testing.assert_array_equal(variable.numpy(), 1.0)
            elif len(variable.shape) == 1:
                np.testing.assert_array_equal(variable.numpy(), 0.0)
            assert variable.dtype == "float32"
            assert variable.trainable


# --- assigning -------------------------------------------------------------------------------


def test_assigning_reports_loaded_missing_unexpected_and_mismatched(make_config, make_networks):
    _, _, _, head = make_networks(make_config())
    variables = named_weights(head)
    arrays = {
        "replaced_token_head/dense/kernel": np.full((16, 16), 2.0, np.float32),
        "replaced_token_head/dense/bias": np.zeros(15, np.float32),
        "temperature": np.zeros((), np.float32),
    }
    report = assign_weights(variables, arrays)
    assert report.loaded == ("replaced_token_head/dense/kernel",)
    assert report.missing == (
        "replaced_token_head/output/kernel",
        "replaced_token_head/output/bias",
    )
    assert report.unexpected == ("temperature",)
    assert report.mismatched == ("replaced_token_head/dense/bias has shape (15,), expected (16,)",)
    np.testing.assert_array_equal(variables["replaced_token_head/dense/kernel"].numpy(), 2.0)
    with pytest.raises(ValueError, match=r"a\.npz does not fit[^!]*missing[^!]*unexpected[^!]*15"):
        report.require_complete("a.npz")


def test_a_full_match_is_accepted(make_config, make_networks):
    head = make_networks(make_config())[3]
    variables = named_weights(head)
    arrays = {name: variable.numpy() for name, variable in variables.items()}
    assign_weights(variables, arrays).require_complete("memory")
