"""The encoder of TF Model Garden, written so that its tasks fine-tune ours.

The one file beside training/ that touches Model Garden: its encoder is a layer of tf_keras, which
is filled, saved and thrown away.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
import yaml
from official.nlp.modeling.networks.bert_encoder import BertEncoderV2

from electra_tf.encoder_folder import EncoderFolder, embedding_shapes, encoder_shapes
from electra_tf.exchange.google_tf1 import system_errors
from electra_tf.exchange.name_rules import model_garden_encoder
from electra_tf.exchange.tokenizer_files import (
    SENTENCEPIECE,
    TOKENIZER_CONFIG,
    VOCABULARY,
    write_vocabulary,
)

PREFIX = "bert_encoder.ckpt"
PARAMS = "params.yaml"
OWN_FILES = (
    "checkpoint",
    f"{PREFIX}*",
    PARAMS,
    VOCABULARY,
    SENTENCEPIECE,
    TOKENIZER_CONFIG,
    "provenance.json",
)
LAYER_NORM_EPSILON = 1e-12

Gelu = Callable[[tf.Tensor], tf.Tensor]


def write_model_garden(path: Path, folder: EncoderFolder) -> tuple[str, ...]:
    """Writes a checkpoint with `encoder`, and the params of a task that reads it.

    Args:
      path: an empty folder.
      folder: either network; its head is left behind, a task brings its own.

    Returns:
      Sentences for the user.

    Raises:
      ValueError: LayerNorm has another epsilon than Model Garden's.
      OSError: the disk is full.
    """
    encoder = build_bert_encoder(folder, tf.nn.gelu)
    with system_errors(path / PREFIX):
        tf.train.Checkpoint(encoder=encoder).save(str(path / PREFIX))
    params = {"task": {"model": {"encoder": {"type": "bert_v2", "bert_v2": _config(folder)}}}}
    (path / PARAMS).write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    write_vocabulary(path, folder)
    return (
        "the head is left behind, tasks bring their own; the pooler, which ELECTRA has not, is "
        "drawn at random",
        f"Model Garden's configs compute GELU by tanh: the last layer then differs by up to "
        f"{approximate_gelu_difference(folder):.1e}; BertEncoderV2(inner_activation=tf.nn.gelu) "
        f"does not",
    )


def build_bert_encoder(folder: EncoderFolder, gelu: Gelu) -> BertEncoderV2:
    """Model Garden's encoder with the weights of a network.

    Args:
      folder: the network.
      gelu: the activation of the feed-forward blocks; `tf.nn.gelu` is exact.

    Raises:
      ValueError: LayerNorm has another epsilon.
    """
    config = folder.config
    if config.layer_norm_epsilon != LAYER_NORM_EPSILON:
        raise ValueError(
            f"layer_norm_epsilon is {config.layer_norm_epsilon}; Model Garden's and KerasHub's "
            f"encoders have {LAYER_NORM_EPSILON} built in, so the numbers would differ"
        )
    encoder = BertEncoderV2(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        max_sequence_length=config.max_position_embeddings,
        type_vocab_size=config.type_vocab_size,
        inner_dim=config.intermediate_size,
        inner_activation=gelu,
        output_dropout=config.hidden_dropout_rate,
        attention_dropout=config.attention_dropout_rate,
        embedding_width=config.embedding_size,
        name="encoder",
    )
    token = tf.constant([[0]])
    encoder({"input_word_ids": token, "input_mask": token, "input_type_ids": token})
    table = model_garden_encoder()
    variables = {v.name.removeprefix("encoder/").removesuffix(":0"): v for v in encoder.variables}
    for ours in embedding_shapes(config) | encoder_shapes(config):
        variable = variables.pop(table.to_theirs(ours).theirs)
        variable.assign(folder.weights[ours].reshape(variable.shape))
    assert variables.keys() == {"pooler_transform/kernel", "pooler_transform/bias"}
    kernel = variables["pooler_transform/kernel"]
    drawn = np.random.default_rng(0).normal(0.0, config.initializer_stddev, kernel.shape)
    kernel.assign(drawn.astype(np.float32))
    return encoder


def approximate_gelu_difference(folder: EncoderFolder) -> float:
    """By how much GELU by tanh, built into Model Garden and KerasHub, changes the last layer.

    Args:
      folder: the network.

    Returns:
      The largest absolute difference over 4 random rows of up to 64 tokens.
    """
    is_approximate = False
    encoder = build_bert_encoder(folder, lambda x: tf.nn.gelu(x, approximate=is_approximate))
    config = folder.config
    length = min(64, config.max_position_embeddings)
    ids = np.random.default_rng(0).integers(0, config.vocab_size, (4, length), np.int32)
    inputs = {
        "input_word_ids": tf.constant(ids),
        "input_mask": tf.ones_like(ids),
        "input_type_ids": tf.zeros_like(ids),
    }
    exact = encoder(inputs, training=False)["sequence_output"]
    is_approximate = True
    approximate = encoder(inputs, training=False)["sequence_output"]
    return float(tf.reduce_max(tf.abs(exact - approximate)))


def _config(folder: EncoderFolder) -> dict[str, object]:
    """Fields of Model Garden's BertEncoderConfig."""
    config = folder.config
    return {
        "vocab_size": config.vocab_size,
        "embedding_size": config.embedding_size,
        "hidden_size": config.hidden_size,
        "num_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "intermediate_size": config.intermediate_size,
        "max_position_embeddings": config.max_position_embeddings,
        "type_vocab_size": config.type_vocab_size,
        "dropout_rate": config.hidden_dropout_rate,
        "attention_dropout_rate": config.attention_dropout_rate,
        "initializer_range": config.initializer_stddev,
        "hidden_activation": "gelu",
    }
