"""Learning rates that fall from the head to the embeddings."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from electra_tf.training.layerwise import layerwise_multipliers

ROOT = os.environ.get("ELECTRA_TF_REFERENCE")
PATHS = {
    "embeddings": "embeddings/layer_norm/gamma",
    "projection": "discriminator/embeddings_project/kernel",
    "layer 0": "discriminator/layer_0/attention/query/kernel",
    "layer 10": "discriminator/layer_10/attention/layer_norm/beta",
    "layer 11": "discriminator/layer_11/feed_forward/output/bias",
    "head": "classification_head/output/kernel",
}


def multipliers(**changes):
    found = layerwise_multipliers(PATHS.values(), 12, **{"decay": 0.8} | changes)
    return {name: found[path] for name, path in PATHS.items()}


def test_the_top_layer_has_the_square_of_the_decay_as_the_reference_has():
    found = multipliers()
    # Base models: 0.8^2 at the top, 0.8^13 in layer 0, 0.8^14 in the embeddings.
    assert found["head"] == 1.0
    assert found["layer 11"] == pytest.approx(0.64)
    assert found["layer 10"] == pytest.approx(0.512)
    assert found["layer 0"] == pytest.approx(0.0549756, rel=1e-6)
    assert found["embeddings"] == found["projection"] == pytest.approx(0.0439805, rel=1e-6)


def test_the_exponent_of_the_top_layer_can_be_1():
    found = multipliers(top_exponent=1)
    assert found["layer 11"] == pytest.approx(0.8)
    assert found["layer 0"] == pytest.approx(0.8**12)
    assert found["embeddings"] == pytest.approx(0.8**13)


def test_a_decay_of_1_makes_no_difference():
    assert set(multipliers(decay=1.0).values()) == {1.0}


def test_wrong_numbers_are_refused():
    for decay in (0.0, 1.1):
        with pytest.raises(ValueError, match=f"decay is {decay}"):
            multipliers(decay=decay)
    with pytest.raises(ValueError, match=r"layer_11/.*: the encoder has 11 layers"):
        layerwise_multipliers(PATHS.values(), 11, 0.8)


@pytest.mark.reference
@pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE")
def test_every_variable_of_the_reference_has_the_multiplier_measured_there():
    cases = json.loads((Path(ROOT) / "d_finetuning" / "layerwise_multipliers.json").read_text())
    assert cases
    for case in cases.values():
        expected = {name: facts["multiplier"] for name, facts in case["per_variable"].items()}
        found = layerwise_multipliers(expected, case["n_layers"], case["decay"])
        assert found == pytest.approx(expected, rel=1e-12)
