"""bfloat16 and float16 touch the operands of matrix products and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.network.dense import LayerNorm, gelu, matmul
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder

HALVES = {"bfloat16": tf.bfloat16, "float16": tf.float16}


def test_a_product_of_numbers_that_fit_into_16_bits_is_exact():
    left = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    right = tf.constant([[5.0, 6.0], [7.0, 8.0]])
    for precision in ("float32", *HALVES):
        product = matmul(left, right, precision)
        assert product.dtype == tf.float32
        np.testing.assert_array_equal(product, [[19, 22], [43, 50]])
        transposed = matmul(left, right, precision, transpose_right=True)
        np.testing.assert_array_equal(transposed, [[17, 23], [39, 53]])


def test_16_bits_round_the_operands():
    # 1 + 2^-9 lies between two bfloat16 numbers, 1 + 2^-12 between two of float16; 1 is nearer.
    one = tf.constant([[1.0]])
    for precision, step in (("bfloat16", 2**-9), ("float16", 2**-12)):
        left = tf.constant([[1.0 + step]])
        assert matmul(left, one, precision).numpy() == 1.0
        assert matmul(left, one, "float32").numpy() > 1.0
    assert matmul(tf.constant([[1 + 2**-9]]), one, "float16").numpy() == 1 + 2**-9


@pytest.fixture(scope="module")
def graphs(make_config, batch):
    """The same network in all precisions: concrete functions of ids and segments."""
    config = make_config()
    spec = tf.TensorSpec((None, None), tf.int32)
    functions = {}
    for precision in ("float32", *HALVES):
        encoder = Encoder(config, Embeddings(config, 7), 7, precision)
        functions[precision] = tf.function(encoder.call).get_concrete_function(spec, spec)
    return functions


@pytest.mark.parametrize("precision", HALVES)
def test_only_products_see_16_bits(graphs, precision):
    half = HALVES[precision]
    operations = graphs[precision].graph.get_operations()
    touched = {
        op.type for op in operations if any(x.dtype == half for x in [*op.inputs, *op.outputs])
    }
    assert touched <= {"Cast", "MatMul", "BatchMatMulV2", "Reshape", "Shape"}
    for op in operations:
        if op.type in ("Softmax", "Erf", "Rsqrt", "Mean", "SquaredDifference"):
            assert op.outputs[0].dtype == tf.float32


@pytest.mark.parametrize("precision", HALVES)
def test_every_product_but_the_segment_lookup_is_in_16_bits(graphs, precision):
    products = [
        op.inputs[0].dtype
        for op in graphs[precision].graph.get_operations()
        if op.type in ("MatMul", "BatchMatMulV2")
    ]
    # The projection; a layer: query, key, value, scores, context, output, two of feed-forward.
    assert products.count(HALVES[precision]) == 1 + 8 * 2
    assert products.count(tf.float32) == 1


def test_float32_knows_no_16_bits(graphs):
    operations = graphs["float32"].graph.get_operations()
    assert not {x.dtype for op in operations for x in op.outputs} & set(HALVES.values())


# Outputs have deviation 1 (LayerNorm); bfloat16 keeps 8 bits, float16 11: errors are a few 2^-8
# and a few 2^-11. A padded token's -10000 is added in float32.
@pytest.mark.parametrize(("precision", "bound"), [("bfloat16", 0.05), ("float16", 0.006)])
def test_16_bits_stay_close_to_float32(graphs, batch, precision, bound):
    exact, rough = (np.asarray(graphs[name](*batch)) for name in ("float32", precision))
    assert rough.dtype == np.float32
    assert 0 < np.abs(exact - rough).max() < bound
    assert np.sqrt(np.mean((exact - rough) ** 2)) < bound / 5


def test_gelu_is_that_of_the_error_function():
    values = np.array([-3.0, -1.0, 0.0, 1.0, 3.0], np.float32)
    # x · Φ(x) with Φ(1) = 0.8413447, Φ(3) = 0.9986501.
    np.testing.assert_allclose(
        gelu(values), [-0.0040497, -0.1586553, 0.0, 0.8413447, 2.9959503], atol=1e-6
    )
    assert abs(gelu(np.float32(1.0)).numpy() - 0.841192) > 1e-4  # the tanh form


def test_layer_norm_works_with_the_smallest_spreads():
    layer = LayerNorm(4, 1e-12)
    layer.build()
    spread = np.array([[1.0, -1.0, 1.0, -1.0]], np.float32)
    for scale in (1.0, 1e-3, 1e-5):
        np.testing.assert_allclose(layer(spread * scale), spread, rtol=1e-2)
    np.testing.assert_array_equal(layer(np.full((1, 4), 0.5, np.float32)), 0.0)


def gradients_of(function, arguments, upstream):
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        values = function(*arguments)
    return [values, *tape.gradient(values, arguments, upstream)]


def test_the_gradient_of_gelu_is_that_of_its_formula():
    values = tf.constant(np.linspace(-6, 6, 97), tf.float32)
    upstream = tf.reverse(values, [0]) + 1.0
    found = gradients_of(gelu, [values], upstream)
    expected = gradients_of(
        lambda x: 0.5 * x * (1.0 + tf.math.erf(x / tf.sqrt(2.0))), [values], upstream
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_gradients_of_layer_norm_are_those_of_its_formula():
    rng = np.random.default_rng(1)
    values, upstream = (tf.constant(rng.normal(size=(2, 3, 5)), tf.float32) for _ in range(2))
    layer = LayerNorm(5, 1e-3)
    layer.build()
    layer.gamma.assign(rng.normal(size=5))
    layer.beta.assign(rng.normal(size=5))

    def formula(x, gamma, beta):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) / tf.sqrt(variance + 1e-3) * gamma + beta

    weights = [tf.convert_to_tensor(w) for w in (layer.gamma, layer.beta)]
    expected = gradients_of(formula, [values, *weights], upstream)
    with tf.GradientTape() as tape:
        tape.watch(values)
        normal = layer(values)
    watched = [values, layer.gamma.value, layer.beta.value]
    found = [normal, *tape.gradient(normal, watched, upstream)]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_dynamic_lengths_are_served_by_one_graph(graphs, batch):
    ids, segments = batch
    whole, short = (graphs["float32"](ids[:, :n], segments[:, :n]) for n in (8, 5))
    np.testing.assert_allclose(np.asarray(whole)[1, :5], np.asarray(short)[1], atol=1e-5)
