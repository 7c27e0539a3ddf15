"""Layer-wise learning rates: the lower a layer, the less fine-tuning changes it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_EMBEDDINGS = re.compile(r"(^|/)embeddings(_project)?/")
_LAYER = re.compile(r"(^|/)layer_(\d+)/")


def layerwise_multipliers(
    paths: Iterable[str], num_hidden_layers: int, decay: float, top_exponent: int = 2
) -> dict[str, float]:
    """What the learning rate of each variable is multiplied by; `Optimizer` takes it.

    The head, which is everything outside the encoder, learns at the full rate, the top layer at
    decay^top_exponent, and each layer below at `decay` times the rate of the one above it. The
    embeddings and their projection count as one more layer.

    Source: google-research/electra at 8a46635, `model/optimization.py`
    (_get_layer_lrs). Its top layer has the exponent 2, left over from a pooler between layer and
    head that was removed; published results have it (issues 51 and 64 there). With
    `top_exponent=1` the layers are told apart as papers describe it.

    >>> paths = ["embeddings/word_embeddings", "encoder/layer_0/output/kernel", "head/kernel"]
    >>> list(layerwise_multipliers(paths, num_hidden_layers=1, decay=0.5).values())
    [0.125, 0.25, 1.0]

    Args:
      paths: of all trained variables.
      num_hidden_layers: layers of the encoder, `layer_0` the lowest.
      decay: in (0, 1]; 1 = no difference.
      top_exponent: of the top layer.

    Returns:
      path → factor.

    Raises:
      ValueError: `decay` is out of range, or a path names a layer that the encoder does not have.
    """
    if not 0.0 < decay <= 1.0:
        raise ValueError(f"the layer-wise decay is {decay}; choose a number above 0, at most 1")

    def multiplier(path: str) -> float:
        if layer := _LAYER.search(path):
            index = int(layer[2])
            if index >= num_hidden_layers:
                raise ValueError(f"{path}: the encoder has {num_hidden_layers} layers")
            return decay ** (num_hidden_layers - 1 - index + top_exponent)
        if _EMBEDDINGS.search(path):
            return decay ** (num_hidden_layers + top_exponent)
        return 1.0

    return {path: multiplier(path) for path in paths}
