"""Sizes come from the arrays; the JSON fills in what no array shows, and is held against them."""

from __future__ import annotations

import pytest

from electra_tf.encoder_folder import expected_shapes
from electra_tf.exchange.huggingface import hugging_face_config
from electra_tf.exchange.sizes import sizes_of


@pytest.fixture
def discriminator(make_pair):
    return make_pair(widths=(128, 64), heads=(4, 1), layers=(3, 2))["discriminator"]


@pytest.fixture
def shapes(discriminator):
    return expected_shapes(discriminator.config, "discriminator")


@pytest.fixture
def told(discriminator):
    return hugging_face_config(discriminator)


def test_a_config_that_agrees_comes_back_whole_and_without_a_word(shapes, told, discriminator):
    assert sizes_of(shapes, told, "m") == (discriminator.config, ())


def test_shapes_win_over_the_config_of_another_network(make_pair, told):
    """A published legal-small generator carries the sizes of its discriminator."""
    generator = make_pair(widths=(128, 64), heads=(4, 1), layers=(3, 2))["generator"]
    config, notes = sizes_of(expected_shapes(generator.config, "generator"), told, "m")
    assert config == generator.config
    assert notes[0] == (
        "the config is wrong and the tensors win: it says hidden_size 128, the tensors have 64; "
        "num_hidden_layers 3, the tensors have 2; intermediate_size 512, the tensors have 256"
    )
    assert notes[1].startswith("num_attention_heads taken as 1, one for 64 units")


def test_without_a_config_heads_follow_googles_rule_and_the_guess_is_told(shapes):
    config, notes = sizes_of(shapes, None, "m")
    assert config.num_attention_heads == 2
    assert config.layer_norm_epsilon == 1e-12
    assert notes[0].startswith("no config: num_attention_heads taken as 2")


def test_without_a_config_odd_widths_are_not_guessed(make_pair):
    """CLUE's tiny ELECTRA has 12 heads of 26."""
    config = make_pair(widths=(312, 78), heads=(12, 3))["discriminator"].config
    with pytest.raises(ValueError, match=r"m: num_attention_heads shows in no tensor.*312"):
        sizes_of(expected_shapes(config, "discriminator"), None, "m")


def test_what_the_config_says_beside_sizes_is_kept(shapes, told):
    told |= {"hidden_dropout_prob": 0.0, "layer_norm_eps": 1e-6, "initializer_range": 0.01}
    config = sizes_of(shapes, told, "m").config
    assert config.hidden_dropout_rate == 0.0
    assert config.layer_norm_epsilon == 1e-6
    assert config.initializer_stddev == 0.01


def without(shapes, start):
    return {name: shape for name, shape in shapes.items() if not name.startswith(start)}


def test_a_layer_that_is_missing_in_between_is_named(shapes, told):
    with pytest.raises(ValueError, match="m: layer 1 is missing though there is a layer 2"):
        sizes_of(without(shapes, "layer_1/"), told, "m")


def test_last_layers_that_are_missing_are_named(shapes, told):
    with pytest.raises(ValueError, match="m: layers 1 to 2 of 3 are missing"):
        sizes_of(without(without(shapes, "layer_1/"), "layer_2/"), told, "m")


def test_a_model_without_embeddings_is_refused(shapes, told):
    with pytest.raises(ValueError, match="m: missing embeddings/word_embeddings"):
        sizes_of(without(shapes, "embeddings/word"), told, "m")


@pytest.mark.parametrize(
    ("key", "value"),
    [("hidden_act", "gelu_new"), ("position_embedding_type", "relative_key"), ("is_decoder", True)],
)
def test_another_architecture_is_refused(shapes, told, key, value):
    with pytest.raises(ValueError, match=f"m: the config says {key} = {value!r}"):
        sizes_of(shapes, told | {key: value}, "m")


def test_heads_that_do_not_divide_are_refused(shapes, told):
    with pytest.raises(ValueError, match="m: hidden_size 128 is not a multiple"):
        sizes_of(shapes, told | {"num_attention_heads": 3}, "m")
