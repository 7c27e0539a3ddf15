"""The matrix product in the asked precision, the dense layer around it, GELU and LayerNorm."""

from __future__ import annotations

from typing import Literal

import keras
import tensorflow as tf

from electra_tf.network.weights import Initializer

Precision = Literal["float32", "bfloat16", "float16"]

SQRT_HALF = 0.5**0.5


def matmul(
    left: tf.Tensor, right: tf.Tensor, precision: Precision, transpose_right: bool = False
) -> tf.Tensor:
    """Matrix product of the last two axes.

    A product with one matrix for all rows is computed as one product: TensorFlow would make it a
    batch of small ones, and in the backward pass a gradient of the matrix for each of them (for the
    word table: B times V times E numbers).

    Args:
      left: float32 [..., m, k].
      right: float32 [..., k, n], or [..., n, k] with `transpose_right`; or a single matrix.
      precision: type of the operands; the result is float32 again.
      transpose_right: take the right operand transposed.

    Returns:
      float32 [..., m, n].
    """
    if right.shape.rank == 2 and left.shape.rank > 2:
        rows = tf.reshape(left, [-1, left.shape[-1]])
        product = matmul(rows, right, precision, transpose_right)
        return tf.reshape(product, tf.concat([tf.shape(left)[:-1], [product.shape[-1]]], axis=0))
    if precision == "float32":
        return tf.matmul(left, right, transpose_b=transpose_right)
    left, right = tf.cast(left, precision), tf.cast(right, precision)
    return tf.cast(tf.matmul(left, right, transpose_b=transpose_right), tf.float32)


def gelu(values: tf.Tensor) -> tf.Tensor:
    """x times the chance that a standard normal stays below x, by the error function.

    Written with `Erf`: Keras' exact GELU emits `Erfc`, which exported graphs cannot always run.
    Source: Hendrycks and Gimpel 2016, arXiv 1606.08415, section 2.

    Args:
      values: float32, any shape.

    Returns:
      float32, the same shape.
    """
    return 0.5 * values * (1.0 + tf.math.erf(values * SQRT_HALF))


def layer_norm(epsilon: float) -> keras.layers.LayerNormalization:
    """LayerNorm over the last axis, always float32. Its owner builds it."""
    return keras.layers.LayerNormalization(epsilon=epsilon, dtype="float32", name="layer_norm")


class Dense(keras.layers.Layer):
    """Product with a kernel, plus a bias.

    Args:
      input_size: width of the last axis that comes in.
      output_size: width of the last axis that goes out.
      initializer: of the kernel; the bias starts at 0.
      precision: type of the product's operands; variables and result are float32.
      name: name of the layer.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        initializer: Initializer,
        precision: Precision,
        name: str,
    ) -> None:
        super().__init__(name=name, dtype="float32")
        self.input_size = input_size
        self.output_size = output_size
        self.initializer = initializer
        self.precision = precision

    def build(self) -> None:
        self.kernel = self.add_weight(
            shape=(self.input_size, self.output_size),
            initializer=self.initializer(f"{self.path}/kernel"),
            name="kernel",
        )
        self.bias = self.add_weight(shape=(self.output_size,), initializer="zeros", name="bias")

    def call(self, values: tf.Tensor) -> tf.Tensor:
        """float32 [..., input_size] → float32 [..., output_size]."""
        product = matmul(values, tf.convert_to_tensor(self.kernel), self.precision)
        return product + tf.convert_to_tensor(self.bias)
