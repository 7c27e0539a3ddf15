"""The config of a network from the shapes of its arrays; what a JSON says comes second."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from electra_tf.config import EncoderConfig, parse_config
from electra_tf.encoder_folder import Shapes

# Our field → its name in the JSON of Google, HFL and Hugging Face.
VISIBLE = {
    "vocab_size": "vocab_size",
    "embedding_size": "embedding_size",
    "hidden_size": "hidden_size",
    "num_hidden_layers": "num_hidden_layers",
    "intermediate_size": "intermediate_size",
    "max_position_embeddings": "max_position_embeddings",
    "type_vocab_size": "type_vocab_size",
}
# Field, JSON name, and what google-research/electra at 8a46635 has where nothing is said.
INVISIBLE = (
    ("hidden_dropout_rate", "hidden_dropout_prob", 0.1),
    ("attention_dropout_rate", "attention_probs_dropout_prob", 0.1),
    ("initializer_stddev", "initializer_range", 0.02),
    ("layer_norm_epsilon", "layer_norm_eps", 1e-12),
)
# What would make another network of the same shapes: JSON key → values that are ours.
_ONLY = {
    "hidden_act": ("gelu", "gelu_python"),
    "position_embedding_type": ("absolute",),
    "tie_word_embeddings": (True,),
    "is_decoder": (False,),
}


class Sizes(NamedTuple):
    """A config, and sentences about where it differs from the JSON or had to be guessed."""

    config: EncoderConfig
    notes: tuple[str, ...]


def sizes_of(shapes: Shapes, told: Mapping[str, Any] | None, origin: str) -> Sizes:
    """Reads the sizes off the arrays.

    Args:
      shapes: our name → shape, as far as the source has them.
      told: its JSON config; None where there is none.
      origin: the source, for errors.

    Raises:
      ValueError: the embeddings or the first layer are missing, a whole layer is, the JSON names
        another architecture, or the number of heads is nowhere to be seen.
    """
    sizes = _visible(shapes, origin)
    notes = []
    if told is None:
        heads, why = _guess_heads(sizes["hidden_size"], origin)
        notes.append(f"no config: num_attention_heads taken as {heads}, {why}")
        told = {}
    else:
        _check_architecture(told, origin)
        wrong = [
            f"{name} {told[key]}, the tensors have {sizes[name]}"
            for name, key in VISIBLE.items()
            if told.get(key, sizes[name]) != sizes[name]
        ]
        _check_depth(sizes, told, origin)
        if wrong:
            notes.append(f"the config is wrong and the tensors win: it says {'; '.join(wrong)}")
        if told.get("hidden_size") == sizes["hidden_size"] and "num_attention_heads" in told:
            heads = told["num_attention_heads"]
        else:
            heads, why = _guess_heads(sizes["hidden_size"], origin)
            notes.append(f"num_attention_heads taken as {heads}, {why}")
    fields = {name: told.get(key, default) for name, key, default in INVISIBLE}
    config = parse_config(EncoderConfig, {**sizes, "num_attention_heads": heads, **fields}, origin)
    return Sizes(config, tuple(notes))


def _visible(shapes: Shapes, origin: str) -> dict[str, int]:
    needed = (
        "embeddings/word_embeddings",
        "embeddings/position_embeddings",
        "embeddings/token_type_embeddings",
        "layer_0/attention/query/kernel",
        "layer_0/feed_forward/intermediate/kernel",
    )
    missing = [name for name in needed if name not in shapes]
    if missing:
        raise ValueError(f"{origin}: missing {', '.join(missing)}; without it nothing can be told")
    flat = [f"{name} has shape {shapes[name]}" for name in needed if len(shapes[name]) != 2]
    if flat:
        raise ValueError(f"{origin}: expected matrices: {'; '.join(flat)}")
    words, positions, types, query, inner = (shapes[name] for name in needed)
    layers = {int(m.group(1)) for name in shapes if (m := re.match(r"layer_(\d+)/", name))}
    gaps = sorted(set(range(max(layers))) - layers)
    if gaps:
        raise ValueError(
            f"{origin}: layer {', '.join(map(str, gaps))} is missing though there is a layer "
            f"{max(layers)}; the file is incomplete, fetch it again"
        )
    return {
        "vocab_size": words[0],
        "embedding_size": words[1],
        "hidden_size": query[1],
        "num_hidden_layers": max(layers) + 1,
        "intermediate_size": inner[1],
        "max_position_embeddings": positions[0],
        "type_vocab_size": types[0],
    }


def _check_architecture(told: Mapping[str, Any], origin: str) -> None:
    for key, values in _ONLY.items():
        if told.get(key, values[0]) not in values:
            raise ValueError(
                f"{origin}: the config says {key} = {told[key]!r}; this network has "
                f"{values[0]!r}, so its numbers would differ"
            )


def _check_depth(sizes: Mapping[str, int], told: Mapping[str, Any], origin: str) -> None:
    """Missing last layers show in no shape, so here the config is believed if it is of this model.

    A published generator carries the sizes of its discriminator; then its depth proves nothing.
    """
    found, said = sizes["num_hidden_layers"], told.get("num_hidden_layers")
    is_of_this_model = told.get("hidden_size") == sizes["hidden_size"]
    if isinstance(said, int) and said > found and is_of_this_model:
        missing = f"layer {found}" if said == found + 1 else f"layers {found} to {said - 1}"
        raise ValueError(
            f"{origin}: {missing} of {said} are missing; the files are incomplete, fetch them "
            f"again (or correct num_hidden_layers in the config if it really has {found})"
        )


def _guess_heads(hidden_size: int, origin: str) -> tuple[int, str]:
    """The rule of google-research/electra at 8a46635, `util/training_utils.py`."""
    if hidden_size > 64 and hidden_size % 64:
        raise ValueError(
            f"{origin}: num_attention_heads shows in no tensor, and hidden_size {hidden_size} is "
            f"no multiple of 64; put a config.json (or discriminator.json, generator.json) with "
            f"num_attention_heads beside it"
        )
    heads = max(1, hidden_size // 64)
    return heads, "one for 64 units as Google and HFL have; a config.json would decide"
