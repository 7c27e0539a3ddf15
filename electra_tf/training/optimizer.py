"""ELECTRA's Adam, applied to gradients that are already summed over all replicas.

Keras' optimizers clip before they reduce and reduce themselves; here reducing and clipping are the
trainer's (house rules: sum, clip once, apply once), so this one only applies. Every replica holds
the same summed gradients and writes its own copy of a variable, which needs no merge call and may
therefore stand inside a condition.

Source: google-research/electra at 8a46635, `model/optimization.py` (AdamWeightDecayOptimizer).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import keras
import tensorflow as tf

from electra_tf.config import OptimizerConfig

_NOT_DECAYED = re.compile(r"layer_norm|LayerNorm|bias")


def is_decayed(path: str) -> bool:
    """True unless the variable is a bias or belongs to a LayerNorm.

    >>> is_decayed("discriminator/layer_0/attention/query/kernel")
    True
    >>> is_decayed("masked_lm_head/output_bias"), is_decayed("embeddings/layer_norm/gamma")
    (False, False)
    """
    return not _NOT_DECAYED.search(path)


class ElectraAdam(tf.Module):
    """Adam without bias correction, with decoupled weight decay."""

    def __init__(self, config: OptimizerConfig, variables: Sequence[keras.Variable]):
        """Creates both moments of every variable; call it inside a strategy's scope.

        Args:
          config: rates and decays.
          variables: what is trained; their `.path` names the moments.
        """
        super().__init__()
        self._config = config
        # The values, not Keras' wrappers: those would go into a checkpoint as objects of their own.
        self._variables = {v.path: v.value for v in variables}
        paths = [v.path for v in variables]
        assert len(self._variables) == len(paths), f"two variables of one path in {paths}"
        self.first_moments = {v.path: _zeros_like(v, "adam_m") for v in variables}
        self.second_moments = {v.path: _zeros_like(v, "adam_v") for v in variables}

    def apply(self, gradients: Sequence[tf.Tensor], learning_rate: tf.Tensor) -> None:
        """One update, in a replica context, the gradients being equal on every replica.

        Args:
          gradients: float32, one for each variable, summed and clipped.
          learning_rate: float32 scalar.
        """
        c = self._config
        for (path, variable), gradient in zip(self._variables.items(), gradients, strict=True):
            m, v = self.first_moments[path], self.second_moments[path]
            next_m = c.beta_1 * m + (1.0 - c.beta_1) * gradient
            next_v = c.beta_2 * v + (1.0 - c.beta_2) * tf.square(gradient)
            update = next_m / (tf.sqrt(next_v) + c.epsilon)
            if is_decayed(path):
                update += c.weight_decay_rate * variable
            m.assign(next_m)
            v.assign(next_v)
            variable.assign_sub(learning_rate * update)


def _zeros_like(variable: keras.Variable, name: str) -> tf.Variable:
    return tf.Variable(
        tf.zeros(variable.shape, tf.float32), trainable=False, name=f"{variable.path}/{name}"
    )
