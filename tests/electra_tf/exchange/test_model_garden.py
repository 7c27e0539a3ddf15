"""Model Garden's encoder, read back by Model Garden, gives the numbers of ours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
import yaml
from official.nlp.modeling.networks.bert_encoder import BertEncoderV2

from electra_tf.exchange.model_garden import approximate_gelu_difference, write_model_garden
from electra_tf.network.pretrained import build_discriminator, build_generator

IDS = [[2, 5, 6, 3, 8, 15, 14, 3], [2, 11, 12, 4, 3, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]]
SEGMENTS = [[0, 0, 0, 0, 1, 1, 1, 1], [0] * 8, [0] * 8]


def read_back(path, gelu):
    """An encoder as params.yaml describes it, filled by Model Garden's own way of reading."""
    params = yaml.safe_load((path / "params.yaml").read_text())["task"]["model"]["encoder"]
    sizes = params["bert_v2"]
    assert params["type"] == "bert_v2"
    encoder = BertEncoderV2(
        vocab_size=sizes["vocab_size"],
        hidden_size=sizes["hidden_size"],
        num_layers=sizes["num_layers"],
        num_attention_heads=sizes["num_attention_heads"],
        max_sequence_length=sizes["max_position_embeddings"],
        type_vocab_size=sizes["type_vocab_size"],
        intermediate_size=sizes["intermediate_size"],
        embedding_width=sizes["embedding_size"],
        activation=gelu,
    )
    inputs = {
        "input_word_ids": tf.constant(IDS),
        "input_mask": tf.constant(np.not_equal(IDS, 0).astype(np.int32)),
        "input_type_ids": tf.constant(SEGMENTS),
    }
    encoder(inputs)
    checkpoint = tf.train.Checkpoint(encoder=encoder)
    status = checkpoint.read(tf.train.latest_checkpoint(str(path)))
    status.expect_partial().assert_existing_objects_matched()
    return encoder(inputs, training=False)


@pytest.mark.parametrize("kind", ["discriminator", "generator"])
@pytest.mark.parametrize("embedding_size", [8, 64], ids=["projected", "equal widths"])
def test_hidden_states_of_every_layer_are_ours(tmp_path, make_pair, kind, embedding_size):
    pair = make_pair(embedding_size=embedding_size, widths=(64, 64), heads=(4, 2), scale=0.15)
    folder = pair[kind]
    notes = write_model_garden(tmp_path, folder)
    build = build_discriminator if kind == "discriminator" else build_generator
    network = build(folder.config, folder.weights)
    states = network.encoder.hidden_states(tf.constant(IDS), tf.constant(SEGMENTS))
    real = np.not_equal(IDS, 0)
    exact = read_back(tmp_path, tf.nn.gelu)["encoder_outputs"]
    np.testing.assert_allclose(
        np.stack(states[1:])[:, real], np.stack(exact)[:, real], rtol=0, atol=1e-5
    )
    assert "left behind" in notes[0]


def test_the_difference_that_its_own_gelu_makes_is_told(tmp_path, make_pair):
    folder = make_pair(embedding_size=64, widths=(64, 64), heads=(4, 2), scale=0.15)[
        "discriminator"
    ]
    told = approximate_gelu_difference(folder)
    notes = write_model_garden(tmp_path, folder)
    assert f"differs by up to {told:.1e}" in notes[-1]
    exact = read_back(tmp_path, tf.nn.gelu)["sequence_output"]
    approximate = read_back(tmp_path, lambda x: tf.nn.gelu(x, approximate=True))["sequence_output"]
    seen = float(tf.reduce_max(tf.abs(exact - approximate)))
    assert 1e-4 < told < 1e-2
    assert told / 5 < seen < told * 5


def test_another_epsilon_is_refused(tmp_path, make_pair):
    folder = make_pair()["discriminator"]
    config = folder.config.model_copy(update={"layer_norm_epsilon": 1e-6})
    with pytest.raises(ValueError, match=r"layer_norm_epsilon is 1e-06; .* have 1e-12 built in"):
        write_model_garden(tmp_path, replace(folder, config=config))


@pytest.mark.slow
def test_a_task_of_model_garden_starts_from_it(tmp_path, make_pair):
    """Its classification task reads params and checkpoint, and its encoder has our weights."""
    from official.nlp.configs import encoders
    from official.nlp.tasks import sentence_prediction

    folder = make_pair()["discriminator"]
    write_model_garden(tmp_path, folder)
    params = yaml.safe_load((tmp_path / "params.yaml").read_text())["task"]
    model = sentence_prediction.ModelConfig(
        num_classes=2, encoder=encoders.EncoderConfig(**params["model"]["encoder"])
    )
    task = sentence_prediction.SentencePredictionTask(
        sentence_prediction.SentencePredictionConfig(init_checkpoint=str(tmp_path), model=model)
    )
    classifier = task.build_model()
    task.initialize(classifier)
    table = classifier.checkpoint_items["encoder"].get_embedding_table()
    np.testing.assert_array_equal(table, folder.weights["embeddings/word_embeddings"])
