"""A preset folder for KerasHub's `ElectraBackbone`; KerasHub itself is not needed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import h5py

from electra_tf.encoder_folder import EncoderFolder, embedding_shapes, encoder_shapes, to_json
from electra_tf.exchange.model_garden import approximate_gelu_difference
from electra_tf.exchange.name_rules import keras_hub_backbone
from electra_tf.exchange.tokenizer_files import VOCABULARY

CONFIG = "config.json"
WEIGHTS = "model.weights.h5"
OWN_FILES = (
    CONFIG,
    WEIGHTS,
    "metadata.json",
    "tokenizer.json",
    "vocabulary.txt",
    "provenance.json",
)


def write_keras_hub(path: Path, folder: EncoderFolder) -> tuple[str, ...]:
    """Writes what `ElectraBackbone.from_preset` and `ElectraTokenizer.from_preset` read.

    Args:
      path: an empty folder.
      folder: either network; its head is left behind, KerasHub has none.

    Returns:
      Sentences for the user.

    Raises:
      ValueError: the vocabulary is not a `vocab.txt`, or LayerNorm has another epsilon.
    """
    if folder.vocabulary_file != VOCABULARY:
        raise ValueError(
            f"the vocabulary is a {folder.vocabulary_file}; KerasHub's ElectraTokenizer is "
            f"WordPiece, so only models with a {VOCABULARY} can be written"
        )
    difference = approximate_gelu_difference(folder)
    _write_weights(path / WEIGHTS, folder)
    (path / CONFIG).write_bytes(to_json(_serialized("ElectraBackbone", _config(folder))))
    (path / "tokenizer.json").write_bytes(
        to_json(_serialized("ElectraTokenizer", _tokenizer(folder)))
    )
    (path / "metadata.json").write_bytes(to_json(_metadata(folder)))
    (path / "assets" / "tokenizer").mkdir(parents=True)
    (path / "assets" / "tokenizer" / "vocabulary.txt").write_bytes(folder.vocabulary)
    return (
        f"KerasHub computes GELU by tanh: the last layer differs from ours by up to "
        f"{difference:.1e}",
        "KerasHub's tokenizer folds full-width characters (，！？Ａ１) into ASCII when it "
        "lower-cases, as BERT does not; give it ids of ours instead",
        "the head is left behind, KerasHub has none; the layer of the pooled output, which ELECTRA "
        "has not, is zero",
    )


def _config(folder: EncoderFolder) -> dict[str, Any]:
    config = folder.config
    return {
        "name": "electra_backbone",
        "trainable": True,
        "dtype": _dtype("float32"),
        "vocab_size": config.vocab_size,
        "num_layers": config.num_hidden_layers,
        "num_heads": config.num_attention_heads,
        "hidden_dim": config.hidden_size,
        "embedding_dim": config.embedding_size,
        "intermediate_dim": config.intermediate_size,
        "dropout": config.hidden_dropout_rate,
        "max_sequence_length": config.max_position_embeddings,
        "num_segments": config.type_vocab_size,
    }


def _tokenizer(folder: EncoderFolder) -> dict[str, Any]:
    return {
        "name": "electra_tokenizer",
        "trainable": True,
        "dtype": _dtype("int32"),
        "config_file": "tokenizer.json",
        "vocabulary": None,
        "sequence_length": None,
        "lowercase": folder.tokenizer_settings["lower_case"],
        "strip_accents": folder.tokenizer_settings["strip_accents"],
        "split": True,
        "suffix_indicator": "##",
        "oov_token": "[UNK]",
        "special_tokens": None,
        "special_tokens_in_strings": False,
    }


def _dtype(name: str) -> dict[str, Any]:
    return {
        "module": "keras",
        "class_name": "DTypePolicy",
        "config": {"name": name},
        "registered_name": None,
    }


def _serialized(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """As Keras serialises an object of KerasHub."""
    module = {"ElectraBackbone": "electra_backbone", "ElectraTokenizer": "electra_tokenizer"}[name]
    return {
        "module": f"keras_hub.src.models.electra.{module}",
        "class_name": name,
        "config": config,
        "registered_name": f"keras_hub>{name}",
    }


def _metadata(folder: EncoderFolder) -> dict[str, Any]:
    """KerasHub looks into it for the versions; the layout is that of 0.32."""
    return {"keras_version": "3.15.1", "keras_hub_version": "0.32.0", "tasks": []}


def _write_weights(path: Path, folder: EncoderFolder) -> None:
    """Writes the file Keras writes: variables by number, under the names it gives to attributes."""
    config, table = folder.config, keras_hub_backbone()
    content = io.BytesIO()  # on a full disk HDF5 would bring the process down as it closes the file
    with h5py.File(content, "w") as file:
        for ours in embedding_shapes(config) | encoder_shapes(config):
            layer, _, leaf = table.to_theirs(ours).theirs.rpartition("/")
            number = {"embeddings": 0, "kernel": 0, "gamma": 0, "bias": 1, "beta": 1}[leaf]
            array = folder.weights[ours]
            if "/attention/" in ours and "layer_norm" not in ours:
                array = array.reshape(_with_heads(ours, folder))
            file[f"{_place(layer, folder)}/vars/{number}"] = array
        width = config.hidden_size
        pooler = _place("pooled_dense", folder)
        file.create_dataset(f"{pooler}/vars/0", (width, width), "float32")
        file.create_dataset(f"{pooler}/vars/1", (width,), "float32")
    path.write_bytes(content.getbuffer())


def _with_heads(ours: str, folder: EncoderFolder) -> tuple[int, ...]:
    """The shape Keras' attention has, with an axis for the heads."""
    config = folder.config
    heads = (config.num_attention_heads, config.hidden_size // config.num_attention_heads)
    if ours.endswith("attention/output/kernel"):
        return (*heads, config.hidden_size)
    if ours.endswith("attention/output/bias"):
        return (config.hidden_size,)
    return heads if ours.endswith("/bias") else (config.hidden_size, *heads)


# Layer → where Keras keeps it: the name of its class, numbered; of its attribute inside a layer.
_PLACES = {
    "token_embedding": "reversible_embedding",
    "position_embedding": "position_embedding",
    "segment_embedding": "embedding",
    "embeddings_layer_norm": "layer_normalization",
    "embeddings_projection": "dense",
    "self_attention_layer/query": "_self_attention_layer/query_dense",
    "self_attention_layer/key": "_self_attention_layer/key_dense",
    "self_attention_layer/value": "_self_attention_layer/value_dense",
    "self_attention_layer/attention_output": "_self_attention_layer/output_dense",
    "self_attention_layer_norm": "_self_attention_layer_norm",
    "feedforward_intermediate_dense": "_feedforward_intermediate_dense",
    "feedforward_output_dense": "_feedforward_output_dense",
    "feedforward_layer_norm": "_feedforward_layer_norm",
}


def _place(layer: str, folder: EncoderFolder) -> str:
    if layer == "pooled_dense":
        return "layers/dense_1" if folder.config.needs_projection else "layers/dense"
    if not layer.startswith("transformer_layer_"):
        return f"layers/{_PLACES[layer]}"
    name, _, part = layer.partition("/")
    number = name.removeprefix("transformer_layer_")
    suffix = "" if number == "0" else f"_{number}"
    return f"layers/transformer_encoder{suffix}/{_PLACES[part]}"
