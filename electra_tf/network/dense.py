"""The matrix product in the asked precision, the dense layer around it, GELU and LayerNorm."""

from __future__ import annotations

import math
from typing import Literal

import keras
import tensorflow as tf

from electra_tf.network.weights import Initializer

Precision = Literal["float32", "bfloat16", "float16"]

SQRT_HALF = 0.5**0.5
SQRT_HALF_OVER_PI = (0.5 / math.pi) ** 0.5


def matmul(
    left: tf.Tensor, right: tf.Tensor, precision: Precision, transpose_right: bool = False
) -> tf.Tensor:
    """Matrix product of the last two axes.

    Args:
      left: float32 [..., m, k].
      right: float32 [..., k, n], or [..., n, k] with `transpose_right`.
      precision: type of the operands; the result is float32 again.
      transpose_right: take the right operand transposed.

    Returns:
      float32 [..., m, n].
    """
    if precision == "float32":
        return tf.matmul(left, right, transpose_b=transpose_right)
    left, right = tf.cast(left, precision), tf.cast(right, precision)
    return tf.cast(tf.matmul(left, right, transpose_b=transpose_right), tf.float32)


def affine(
    values: tf.Tensor,
    kernel: tf.Tensor,
    bias: tf.Tensor,
    precision: Precision,
    transpose_kernel: bool = False,
) -> tf.Tensor:
    """Product of every vector with one kernel, plus a bias.

    Computed as one product of all rows: TensorFlow would make it a batch of small ones, and in the
    backward pass a gradient of the kernel for each of them (for the word table: B times V times E
    numbers). The bias follows at once, so that TensorFlow computes both in one operation.

    Args:
      values: float32 [..., k].
      kernel: float32 [k, n], or [n, k] with `transpose_kernel`.
      bias: float32 [n].
      precision: type of the product's operands; the result is float32.
      transpose_kernel: take the kernel transposed.

    Returns:
      float32 [..., n].
    """
    rows = tf.reshape(values, [-1, values.shape[-1]])
    outputs = tf.nn.bias_add(matmul(rows, kernel, precision, transpose_kernel), bias)
    return tf.reshape(outputs, tf.concat([tf.shape(values)[:-1], [outputs.shape[-1]]], axis=0))


@tf.custom_gradient
def gelu(values: tf.Tensor):
    """x times the chance that a standard normal stays below x, by the error function.

    Written with `Erf`: Keras' exact GELU emits `Erfc`, which exported graphs cannot always run.
    The backward pass computes everything anew from the values. That is no slower than reading the
    two tensors that TensorFlow would keep for it, and they are the largest of a layer.
    Source: Hendrycks and Gimpel 2016, arXiv 1606.08415, section 2.

    Args:
      values: float32, any shape.

    Returns:
      float32, the same shape.
    """

    def gradient(upstream: tf.Tensor) -> tf.Tensor:
        density = SQRT_HALF_OVER_PI * tf.exp(-0.5 * tf.square(values))
        return upstream * (_normal_cdf(values) + values * density)

    return values * _normal_cdf(values), gradient


def _normal_cdf(values: tf.Tensor) -> tf.Tensor:
    return 0.5 + 0.5 * tf.math.erf(values * SQRT_HALF)


class LayerNorm(keras.layers.Layer):
    """Every vector moved to mean 0 and deviation 1, times gamma, plus beta; always float32.

    Keras' layer gives the same numbers; its gradient, made by TensorFlow operation for operation,
    takes half as long again.
    Source: Ba, Kiros and Hinton 2016, arXiv 1607.06450.

    Args:
      size: width of the last axis.
      epsilon: added to the variance.
    """

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__(name="layer_norm", dtype="float32")
        self.size = size
        self.epsilon = epsilon

    def build(self) -> None:
        self.gamma = self.add_weight(shape=(self.size,), initializer="ones", name="gamma")
        self.beta = self.add_weight(shape=(self.size,), initializer="zeros", name="beta")

    def call(self, values: tf.Tensor) -> tf.Tensor:
        """float32 [..., size] → the same shape."""
        rows = tf.reshape(values, [-1, self.size])
        gamma, beta = tf.convert_to_tensor(self.gamma), tf.convert_to_tensor(self.beta)
        return tf.reshape(_normalize(rows, gamma, beta, self.epsilon), tf.shape(values))


def _normalize(rows: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: float) -> tf.Tensor:
    """LayerNorm of float32 [N, size]."""

    @tf.custom_gradient
    def normalize(rows, gamma, beta):
        centered = rows - _row_mean(rows)
        inverse = tf.math.rsqrt(_row_mean(tf.square(centered)) + epsilon)
        normal = centered * inverse

        def gradient(upstream):
            of_normal = upstream * gamma
            of_rows = inverse * (
                of_normal - _row_mean(of_normal) - normal * _row_mean(of_normal * normal)
            )
            of_gamma = tf.reduce_sum(upstream * normal, axis=0)
            return of_rows, of_gamma, tf.reduce_sum(upstream, axis=0)

        return normal * gamma + beta, gradient

    return normalize(rows, gamma, beta)


def _row_mean(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(rows, axis=-1, keepdims=True)


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
        kernel, bias = tf.convert_to_tensor(self.kernel), tf.convert_to_tensor(self.bias)
        return affine(values, kernel, bias, self.precision)
