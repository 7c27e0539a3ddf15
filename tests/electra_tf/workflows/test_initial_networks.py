"""A run may start from a model of any format; what its format lacks starts at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from electra_tf.encoder_folder import embedding_shapes, encoder_shapes
from electra_tf.workflows.convert import convert
from electra_tf.workflows.pretrain import initial_networks

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"


def test_a_bert_starts_the_network_that_is_named_behind_it():
    (discriminator,) = initial_networks(f"{GOLDEN / 'bert'}:discriminator")
    assert discriminator.origin == f"{GOLDEN / 'bert'}:discriminator"
    config = discriminator.folder.config
    backbone = embedding_shapes(config) | encoder_shapes(config)
    assert discriminator.folder.weights.keys() == backbone.keys()
    assert any("BERT's pooler" in note for note in discriminator.notes)
    both = initial_networks(f"{GOLDEN / 'bert'}:both")
    assert [network.folder.kind for network in both] == ["discriminator", "generator"]
    assert "masked_lm_head/dense/kernel" in both[1].folder.weights
    with pytest.raises(ValueError, match="bert:generator; or discriminator, or both"):
        initial_networks(GOLDEN / "bert")


@pytest.mark.parametrize("target", ["hf", "tf1"])
def test_a_pair_starts_both_networks_whatever_its_format(tmp_path, make_pair, target):
    from electra_tf.encoder_folder import write_encoder_folder

    pair = make_pair(widths=(128, 64), heads=(2, 1))
    for kind, folder in pair.items():
        write_encoder_folder(tmp_path / "run" / kind, folder)
    convert(tmp_path / "run", target, tmp_path / "there")
    networks = initial_networks(tmp_path / "there")
    assert [network.folder.kind for network in networks] == list(pair)
    for network in networks:
        for name, array in pair[network.folder.kind].weights.items():
            np.testing.assert_array_equal(network.folder.weights[name], array)
