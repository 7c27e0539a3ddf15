"""Networks with weights that were trained before, from a config and named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.network.dense import Precision
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder
from electra_tf.network.heads import MaskedLMHead, ReplacedTokenHead
from electra_tf.network.weights import assign_weights, named_weights


class Discriminator(NamedTuple):
    """The network that says which tokens were replaced."""

    encoder: Encoder
    head: ReplacedTokenHead

    def judge(self, input_ids: np.ndarray) -> np.ndarray:
        """How likely each token was replaced.

        Args:
          input_ids: int32 [B, L], one segment, 0 = padding.

        Returns:
          float32 [B, L]; at padding it means nothing.
        """
        ids = tf.constant(input_ids)
        return tf.sigmoid(self.head(self.encoder(ids, tf.zeros_like(ids)))).numpy()


class Generator(NamedTuple):
    """The network that fills masks."""

    encoder: Encoder
    head: MaskedLMHead

    def guess(self, input_ids: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """What could stand at some positions.

        Args:
          input_ids: int32 [B, L], one segment, [MASK] where a token is hidden, 0 = padding.
          positions: int32 [B, M].

        Returns:
          float32 [B, M, V], probabilities.
        """
        ids = tf.constant(input_ids)
        hidden = self.encoder(ids, tf.zeros_like(ids))
        slots = tf.gather(hidden, tf.constant(positions), batch_dims=1)
        return tf.nn.softmax(self.head(slots)).numpy()


def build_discriminator(
    config: EncoderConfig, weights: Mapping[str, np.ndarray], precision: Precision = "float32"
) -> Discriminator:
    """A discriminator with given weights.

    Args:
      config: sizes, `vocab_size` filled in.
      weights: arrays under the names of `named_weights`, all and no other.
      precision: type of the products' operands.

    Raises:
      ValueError: arrays are missing, unexpected or of another shape.
    """
    encoder = Encoder(config, Embeddings(config, 0), 0, precision, "discriminator")
    network = Discriminator(encoder, ReplacedTokenHead(config, 0, precision))
    _fill(network, weights)
    return network


def build_generator(
    config: EncoderConfig, weights: Mapping[str, np.ndarray], precision: Precision = "float32"
) -> Generator:
    """A generator with given weights. Args and Raises: as `build_discriminator`."""
    embeddings = Embeddings(config, 0)
    encoder = Encoder(config, embeddings, 0, precision, "generator")
    network = Generator(encoder, MaskedLMHead(config, embeddings, 0, precision))
    _fill(network, weights)
    return network


def _fill(network: Discriminator | Generator, weights: Mapping[str, np.ndarray]) -> None:
    variables = named_weights(network.encoder) | named_weights(network.head)
    assign_weights(variables, weights).require_complete("the given weights")
