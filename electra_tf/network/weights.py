"""How variables start, what they are called, and how arrays get into them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

Initializer = Callable[[str], Any]
"""Gives the Keras initializer of the variable at a path."""


def variable_seed(seed: int, path: str) -> int:
    """The seed of one variable, from the seed of the run and the variable's path.

    Neither the order in which variables are made nor the device they live on changes it, so
    every replica starts with the same weights.
    """
    return zlib.crc32(f"{seed}/{path}".encode())


def truncated_normal(stddev: float, seed: int) -> Initializer:
    """Normal around 0, redrawn outside two standard deviations: the spread is 0.88 stddev.

    Source: google-research/electra at 8a46635, `model/modeling.py` (create_initializer).
    """
    return lambda path: keras.initializers.TruncatedNormal(
        stddev=stddev, seed=variable_seed(seed, path)
    )


def glorot_uniform(seed: int) -> Initializer:
    """Uniform within sqrt(6 / (inputs + outputs)).

    The reference names no initializer for the embedding projection and for the last layer of
    its heads, and so uses this default of TensorFlow 1.
    Source: google-research/electra at 8a46635, `model/modeling.py`, `pretrain/`.
    """
    return lambda path: keras.initializers.GlorotUniform(seed=variable_seed(seed, path))


def weights_beside(layer: keras.layers.Layer, shared: keras.layers.Layer) -> list[keras.Variable]:
    """The variables of a layer without those of the shared layer it was handed."""
    others = {id(variable) for variable in shared.weights}
    return [variable for variable in layer.weights if id(variable) not in others]


def named_weights(layer: keras.layers.Layer) -> dict[str, keras.Variable]:
    """The variables an encoder folder holds for this encoder or head, under their names there.

    Args:
      layer: an `Encoder` (its names leave out its own name, and the shared embeddings are
        among them) or a head (its names begin with the head's, the shared word table is not
        among them). Both say so in `folder_parts`.

    Returns:
      name → variable, such as `layer_0/attention/query/kernel`, `embeddings/word_embeddings`,
      `replaced_token_head/dense/kernel`.
    """
    return {
        prefix + variable.path.removeprefix(f"{part.path}/"): variable
        for part, prefix in layer.folder_parts
        for variable in part.own_weights
    }


@dataclass(frozen=True)
class AssignmentReport:
    """What became of the arrays handed to `assign_weights`.

    Fields:
      loaded: names that were assigned.
      missing: variables no array was given for; they keep their values.
      unexpected: arrays no variable asked for.
      mismatched: one sentence for each array of another shape; its variable keeps its value.
    """

    loaded: tuple[str, ...]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[str, ...]

    def require_complete(self, origin: str) -> None:
        """Refuses anything but a full match.

        Args:
          origin: where the arrays came from, for the error.

        Raises:
          ValueError: lists every missing, unexpected and mismatched name.
        """
        problems = [f"missing {name}" for name in self.missing]
        problems += [f"unexpected {name}" for name in self.unexpected]
        problems += self.mismatched
        if problems:
            raise ValueError(f"{origin} does not fit the model:\n  " + "\n  ".join(problems))


def assign_weights(
    variables: Mapping[str, keras.Variable], arrays: Mapping[str, np.ndarray]
) -> AssignmentReport:
    """Puts every array of the right name and shape into its variable, and says what it did.

    Args:
      variables: name → variable, as `named_weights` gives them; heads may be merged in.
      arrays: name → float array.

    Returns:
      The report. Nothing is raised: a foreign checkpoint may lack a head and still be welcome.
    """
    report = match_shapes({name: tuple(v.shape) for name, v in variables.items()}, arrays)
    for name in report.loaded:
        variables[name].assign(arrays[name])
    return report


def match_shapes(
    expected: Mapping[str, tuple[int, ...]], arrays: Mapping[str, np.ndarray]
) -> AssignmentReport:
    """What `assign_weights` would do, where no variables exist yet.

    Args:
      expected: name → shape.
      arrays: name → float array.
    """
    loaded, mismatched = [], []
    for name, shape in expected.items():
        if name not in arrays:
            continue
        found = tuple(arrays[name].shape)
        if found == shape:
            loaded.append(name)
        else:
            mismatched.append(f"{name} has shape {found}, expected {shape}")
    return AssignmentReport(
        loaded=tuple(loaded),
        missing=tuple(name for name in expected if name not in arrays),
        unexpected=tuple(name for name in arrays if name not in expected),
        mismatched=tuple(mismatched),
    )
