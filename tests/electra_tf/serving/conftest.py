"""One exported discriminator for all tests of its graph."""

from __future__ import annotations

import pytest
import tensorflow as tf

from electra_tf.workflows.export import export


@pytest.fixture(scope="session")
def detection(write_network, tmp_path_factory):
    """A tiny discriminator of 12 tokens a row and the folder of its first version."""
    place = tmp_path_factory.mktemp("serving")
    write_network(place / "encoder", "discriminator")
    exported = export(place / "encoder", place / "detect")
    return place / "encoder", exported.folder / str(exported.version)


@pytest.fixture(scope="session")
def ask(detection):
    """Calls a signature of that model: inputs by name in, numpy outputs by name out."""
    signatures = tf.saved_model.load(str(detection[1])).signatures

    def call(signature, **inputs):
        outputs = signatures[signature](**{k: tf.constant(v) for k, v in inputs.items()})
        return {name: value.numpy() for name, value in outputs.items()}

    return call
