"""What the tests of the network share: a tiny config, random weights, a ragged batch."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder
from electra_tf.network.heads import MaskedLMHead, ReplacedTokenHead


@pytest.fixture(scope="session")
def make_config():
    def make(**changes) -> EncoderConfig:
        sizes = {
            "vocab_size": 40,
            "embedding_size": 12,
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 24,
            "max_position_embeddings": 10,
            "type_vocab_size": 2,
            "hidden_dropout_rate": 0.0,
            "attention_dropout_rate": 0.0,
            "initializer_stddev": 0.02,
            "layer_norm_epsilon": 1e-12,
        }
        return EncoderConfig(**(sizes | changes))

    return make


@pytest.fixture(scope="session")
def make_networks():
    """Embeddings, encoder and both heads of one config."""

    def make(config, seed=7, precision="float32", name="encoder"):
        embeddings = Embeddings(config, seed)
        return (
            embeddings,
            Encoder(config, embeddings, seed, precision, name),
            MaskedLMHead(config, embeddings, seed, precision),
            ReplacedTokenHead(config, seed, precision),
        )

    return make


@pytest.fixture(scope="session")
def randomize():
    """Gives every variable values that show, biases and LayerNorms included."""

    def set_values(*layers, seed=0):
        generator = np.random.default_rng(seed)
        for layer in layers:
            for variable in layer.own_weights:
                values = generator.normal(0.0, 0.4, variable.shape)
                variable.assign((values + variable.path.endswith("gamma")).astype(np.float32))

    return set_values


@pytest.fixture(scope="session")
def batch():
    """Rows of 8, 5 and 1 tokens."""
    ids = [[2, 5, 6, 7, 8, 9, 39, 3], [2, 11, 12, 13, 3, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]]
    segments = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0, 0, 0], [0] * 8]
    return tf.constant(ids), tf.constant(segments)
