"""Our network with the reference's weights gives the reference's numbers.

ELECTRA_TF_REFERENCE names a folder of numbers made by running google-research/electra at
8a46635 unchanged, with dropout off: weights, one batch, every intermediate, gradients.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.encoder_folder import embedding_shapes, encoder_shapes, head_shapes
from electra_tf.exchange.name_rules import google_discriminator, google_generator
from electra_tf.network.attention import padding_scores
from electra_tf.network.dense import LayerNorm, gelu
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder
from electra_tf.network.heads import MaskedLMHead, ReplacedTokenHead
from electra_tf.network.weights import assign_weights, named_weights

ROOT = os.environ.get("ELECTRA_TF_REFERENCE")
pytestmark = [
    pytest.mark.reference,
    pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE"),
]
FOLDER = Path(ROOT or ".") / "a_pretraining"
DISCRIMINATOR_WEIGHT = 50.0


TABLES = {"electra": google_discriminator(), "generator": google_generator()}


def reference_name(name: str, network: str) -> str:
    """Our name of a variable → the reference's. `network` is electra or generator."""
    return TABLES[network].to_theirs(name).theirs


class Networks:
    """Both networks with their heads, filled with weights of the reference."""

    def __init__(self, discriminator, generator, arrays):
        embeddings = Embeddings(discriminator, 0)
        self.discriminator = Encoder(discriminator, embeddings, 0, name="discriminator")
        self.generator = Encoder(generator, embeddings, 0, name="generator")
        self.masked_lm = MaskedLMHead(generator, embeddings, 0)
        self.replaced = ReplacedTokenHead(discriminator, 0)
        named = {}
        for encoder, theirs in ((self.discriminator, "electra"), (self.generator, "generator")):
            for name, variable in named_weights(encoder).items():
                named[reference_name(name, theirs)] = variable
        for head, theirs in ((self.replaced, "electra"), (self.masked_lm, "generator")):
            for name, variable in named_weights(head).items():
                named[reference_name(name, theirs)] = variable
        self.named = named
        assign_weights(named, arrays).require_complete("the reference")

    def logits(self, arrays):
        """(mlm logits, disc logits) for the reference's masked and corrupted input."""
        segments = tf.constant(arrays["segment_ids"])
        hidden = self.generator(tf.constant(arrays["masked_input_ids"]), segments)
        slots = tf.gather(hidden, arrays["masked_lm_positions"], batch_dims=1)
        corrupted = tf.constant(arrays["corrupted_input_ids"])
        return self.masked_lm(slots), self.replaced(self.discriminator(corrupted, segments))

    def total_loss(self, arrays, input_mask, labels):
        mlm_logits, logits = self.logits(arrays)
        weights = tf.constant(arrays["masked_lm_weights"])
        mlm = tf.nn.sparse_softmax_cross_entropy_with_logits(arrays["masked_lm_ids"], mlm_logits)
        mlm = tf.reduce_sum(mlm * weights) / (tf.reduce_sum(weights) + 1e-6)
        mask = tf.cast(input_mask, tf.float32)
        judged = tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(labels, tf.float32), logits)
        judged = tf.reduce_sum(judged * mask) / (tf.reduce_sum(mask) + 1e-6)
        return mlm, judged, mlm + DISCRIMINATOR_WEIGHT * judged


def gradients_of(networks, *arguments):
    """Reference name → gradient of the total loss."""
    names, variables = zip(*networks.named.items(), strict=True)
    values = [variable.value for variable in variables]
    with tf.GradientTape() as tape:
        total = networks.total_loss(*arguments)[2]
    return {
        name: tf.convert_to_tensor(gradient).numpy()
        for name, gradient in zip(names, tape.gradient(total, values), strict=True)
    }


@pytest.fixture(scope="module")
def outputs():
    arrays = dict(np.load(FOLDER / "outputs.npz"))
    batches = np.load(FOLDER / "batches.npz")
    arrays["segment_ids"] = batches["segment_ids"][0]
    arrays["input_mask"] = batches["input_mask"][0]
    return arrays


@pytest.fixture(scope="module")
def networks(make_config):
    shared = {"vocab_size": 120, "embedding_size": 48, "max_position_embeddings": 512}
    sizes = {"num_hidden_layers": 3, "num_attention_heads": 2}
    judge = make_config(hidden_size=64, intermediate_size=256, **shared, **sizes)
    sizes["num_attention_heads"] = 1
    guesser = make_config(hidden_size=32, intermediate_size=128, **shared, **sizes)
    reader = tf.train.load_checkpoint(str(FOLDER / "ckpt_initial_no_slots"))
    names = [name for name in reader.get_variable_to_shape_map() if name != "global_step"]
    assert len(names) == 114
    return Networks(judge, guesser, {name: reader.get_tensor(name) for name in names})


@pytest.mark.parametrize(
    ("ours", "theirs", "input_ids"),
    [
        ("discriminator", "disc", "corrupted_input_ids"),
        ("generator", "gen", "masked_input_ids"),
    ],
)
def test_every_layer_and_attention_is_that_of_the_reference(
    networks, outputs, ours, theirs, input_ids
):
    encoder, ids = getattr(networks, ours), tf.constant(outputs[input_ids])
    states = encoder.hidden_states(ids, tf.constant(outputs["segment_ids"]))
    np.testing.assert_allclose(states[0], outputs[f"{theirs}_embedding_output"], atol=1e-5)
    np.testing.assert_allclose(states[1:], outputs[f"{theirs}_layers"], atol=1e-5)
    for index, layer in enumerate(encoder.transformer_layers):
        probabilities = layer.attention.probabilities(states[index], padding_scores(ids != 0))
        expected = outputs[f"{theirs}_attention_probs"][index]
        np.testing.assert_allclose(probabilities, expected, atol=1e-6)


def test_logits_and_losses_are_those_of_the_reference(networks, outputs):
    mlm_logits, logits = networks.logits(outputs)
    np.testing.assert_allclose(mlm_logits, outputs["mlm_logits"], atol=1e-5)
    np.testing.assert_allclose(logits, outputs["disc_logits"], atol=1e-5)
    losses = networks.total_loss(outputs, outputs["input_mask"], outputs["is_fake"])
    expected = [outputs[name] for name in ("mlm_loss", "disc_loss", "total_loss")]
    np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=1e-5)


def test_every_gradient_is_that_of_the_reference(networks, outputs):
    expected = np.load(FOLDER / "gradients.npz")
    gradients = gradients_of(networks, outputs, outputs["input_mask"], outputs["is_fake"])
    assert {name.replace("/", "|") for name in gradients} == set(expected.files)
    for name, gradient in gradients.items():
        theirs = expected[name.replace("/", "|")]
        np.testing.assert_allclose(
            gradient, theirs, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(theirs).max()), err_msg=name
        )


@pytest.mark.parametrize(
    ("variant", "embedding_size"), [("small_like", 24), ("base_like_embedding_equals_hidden", 32)]
)
def test_variants_with_and_without_projection_agree(make_config, variant, embedding_size):
    arrays = np.load(FOLDER / "variants" / f"{variant}.npz")
    sizes = {
        "vocab_size": 60,
        "embedding_size": embedding_size,
        "num_hidden_layers": 2,
        "max_position_embeddings": 32,
    }
    networks = Networks(
        make_config(hidden_size=32, intermediate_size=128, num_attention_heads=2, **sizes),
        make_config(hidden_size=16, intermediate_size=64, num_attention_heads=1, **sizes),
        {n.removeprefix("w|").replace("|", "/"): arrays[n] for n in arrays if n.startswith("w|")},
    )
    batch = {n.split("|")[1]: arrays[n] for n in arrays.files if n.startswith(("in|", "out|"))}
    mlm_logits, logits = networks.logits(batch)
    np.testing.assert_allclose(mlm_logits, batch["mlm_logits"], atol=1e-5)
    np.testing.assert_allclose(logits, batch["disc_logits_before_loss"], atol=1e-5)
    arguments = (batch, batch["input_mask"], batch["disc_labels"])
    np.testing.assert_allclose(networks.total_loss(*arguments)[2], batch["total_loss"], rtol=1e-6)
    index = json.loads((FOLDER / "variants" / "index.json").read_text())
    order = index[variant]["grad_norm_names"]
    gradients = gradients_of(networks, *arguments)
    norms = [np.linalg.norm(gradients[name]) for name in order]
    np.testing.assert_allclose(norms, batch["grad_norms"], rtol=1e-4, atol=1e-5)


def test_gelu_and_layer_norm_are_those_of_the_reference():
    arrays = np.load(FOLDER / "small_operations.npz")
    np.testing.assert_allclose(gelu(arrays["gelu_in"]), arrays["gelu_out"], atol=1e-6)
    layer = LayerNorm(8, 1e-12)
    layer.build()
    np.testing.assert_allclose(layer(arrays["layer_norm_in"]), arrays["layer_norm_out"], atol=1e-5)


# --- names, shapes and first values ----------------------------------------------------------

SIZES = {
    # embedding, layers, hidden, heads, feed-forward of the discriminator; then generator.
    "small_generator_0.25": ((128, 12, 256, 4, 1024), (128, 12, 64, 1, 256)),
    "small_generator_1.0": ((128, 12, 256, 4, 1024), (128, 12, 256, 4, 1024)),
    "base_generator_0.33333": ((768, 12, 768, 12, 3072), (768, 12, 256, 4, 1024)),
    "large_generator_0.25": ((1024, 24, 1024, 16, 4096), (1024, 24, 256, 4, 1024)),
}


def configs_of(make_config, size):
    for embedding_size, layers, hidden_size, heads, intermediate_size in SIZES[size]:
        yield make_config(
            vocab_size=21128,
            embedding_size=embedding_size,
            num_hidden_layers=layers,
            hidden_size=hidden_size,
            num_attention_heads=heads,
            intermediate_size=intermediate_size,
            max_position_embeddings=512,
        )


@pytest.mark.parametrize("size", SIZES)
def test_names_and_shapes_are_those_of_the_reference(make_config, size):
    judge, guesser = configs_of(make_config, size)
    ours = {}
    for shapes, encoder in (
        (embedding_shapes(judge), "electra"),
        (encoder_shapes(judge), "electra"),
        (encoder_shapes(guesser), "generator"),
        (head_shapes(judge, "discriminator"), "electra"),
        (head_shapes(guesser, "generator"), "generator"),
    ):
        ours |= {reference_name(name, encoder): list(shape) for name, shape in shapes.items()}
    theirs = json.loads((FOLDER / "variables.json").read_text())[size]["trainable"]
    assert ours == dict(theirs)


def test_first_values_are_spread_like_those_of_the_reference(make_config):
    judge, guesser = configs_of(make_config, "small_generator_0.25")
    embeddings = Embeddings(judge, 0)
    theirs = json.loads((FOLDER / "initial_statistics.json").read_text())
    seen = set()
    for layer, encoder in (
        (Encoder(judge, embeddings, 0, name="discriminator"), "electra"),
        (Encoder(guesser, embeddings, 0, name="generator"), "generator"),
        (MaskedLMHead(guesser, embeddings, 0), "generator"),
        (ReplacedTokenHead(judge, 0), "electra"),
    ):
        for name, variable in named_weights(layer).items():
            expected, values = theirs[reference_name(name, encoder)], variable.numpy()
            assert list(values.shape) == expected["shape"]
            # Deviations of two samples of n values differ by about sd / sqrt(n).
            slack = 6 / values.size**0.5
            assert abs(values.std() - expected["sd"]) <= slack * expected["sd"], name
            assert abs(values.mean() - expected["mean"]) <= slack * expected["sd"] * 1.5, name
            reach = max(abs(expected["minimum"]), abs(expected["maximum"]))
            assert np.abs(values).max() <= 1.1 * reach, name
            seen.add(reference_name(name, encoder))
    assert seen == set(theirs)
