"""The optimizers, applied to gradients that are already summed over all replicas and clipped.

Keras' optimizers clip before they reduce and reduce themselves; here reducing and clipping are the
trainer's (house rules: sum, clip once, apply once), so these only apply. Every replica holds the
same summed gradients and writes its own copy of a variable, which needs no merge call and may
therefore stand inside a condition.

All of them keep the same two float32 moments of every variable and differ in the direction they
make of them:

  electra_adam  m / (√v + ε) + λ w                       no bias correction
  adamw         m̂ / (√v̂ + ε) + λ w                       m̂, v̂ corrected for their start at 0
  lamb          ‖w‖ / ‖r‖ · r with r = adamw's direction   one trust ratio a variable

λ w is left out for biases and LayerNorms, and LAMB gives them no trust ratio.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import keras
import numpy as np
import tensorflow as tf

from electra_tf.config import OptimizerConfig

_SPARED = re.compile(r"layer_norm|LayerNorm|bias")


def is_decayed(path: str) -> bool:
    """True unless the variable is a bias or belongs to a LayerNorm.

    >>> is_decayed("discriminator/layer_0/attention/query/kernel")
    True
    >>> is_decayed("masked_lm_head/output_bias"), is_decayed("embeddings/layer_norm/gamma")
    (False, False)
    """
    return not _SPARED.search(path)


class Optimizer(tf.Module):
    """The optimizer that `config.name` asks for, with its moments."""

    def __init__(
        self,
        config: OptimizerConfig,
        variables: Sequence[keras.Variable],
        rate_multipliers: Mapping[str, float] | None = None,
    ):
        """Creates both moments of every variable; call it inside a strategy's scope.

        Args:
          config: which optimizer, rates and decays.
          variables: what is trained; their `.path` names the moments.
          rate_multipliers: path of every variable → what its learning rate is multiplied by, weight
            decay included; 0 freezes. None = 1 for all.
        """
        super().__init__()
        self._config = config
        self._update = _UPDATES[config.name]
        # The values, not Keras' wrappers: those would go into a checkpoint as objects of their own.
        self._variables = {v.path: v.value for v in variables}
        paths = [v.path for v in variables]
        assert len(self._variables) == len(paths), f"two variables of one path in {paths}"
        multipliers = dict.fromkeys(paths, 1.0) if rate_multipliers is None else rate_multipliers
        strangers = sorted(multipliers.keys() ^ set(paths))
        assert not strangers, f"rate multipliers and variables differ in {strangers}"
        # A plain dict would be tracked as a part of the checkpoint.
        self._rate_multipliers = MappingProxyType(dict(multipliers))
        self.first_moments = {v.path: _zeros_like(v, "adam_m") for v in variables}
        self.second_moments = {v.path: _zeros_like(v, "adam_v") for v in variables}

    def apply(
        self, gradients: Sequence[tf.Tensor], learning_rate: tf.Tensor, update_step: tf.Tensor
    ) -> None:
        """One update, in a replica context, the gradients being equal on every replica.

        Args:
          gradients: float32, one for each variable, summed and clipped.
          learning_rate: float32 scalar.
          update_step: integer scalar, the number of updates before this one.
        """
        updates = tf.cast(update_step, tf.float32) + 1.0
        for (path, variable), gradient in zip(self._variables.items(), gradients, strict=True):
            multiplier = self._rate_multipliers[path]
            rate = learning_rate if multiplier == 1.0 else multiplier * learning_rate
            moments = self.first_moments[path], self.second_moments[path]
            self._update(self._config, path, variable, *moments, gradient, rate, updates)


def _zeros_like(variable: keras.Variable, name: str) -> tf.Variable:
    return tf.Variable(
        tf.zeros(variable.shape, tf.float32), trainable=False, name=f"{variable.path}/{name}"
    )


# --- updates ---------------------------------------------------------------------------------

Update = Callable[
    [OptimizerConfig, str, tf.Variable, tf.Variable, tf.Variable, tf.Tensor, tf.Tensor, tf.Tensor],
    None,
]
"""Of config, path, variable, both moments, gradient, learning rate and the number of updates, this
one included."""


def _electra_adam(c, path, variable, m, v, gradient, rate, updates):
    """Adam without bias correction, with decoupled weight decay.

    Source: google-research/electra at 8a46635, `model/optimization.py` (AdamWeightDecayOptimizer).
    """
    _adam(c, path, variable, m, v, gradient, rate, rate, c.epsilon)


def _adamw(c, path, variable, m, v, gradient, rate, updates):
    """Adam with bias correction and decoupled weight decay.

    The correction moves into rate and epsilon: m̂ / (√v̂ + ε) = (√s / r) · m / (√v + √s ε), where
    m̂ = m / r and v̂ = v / s.
    Source: Kingma and Ba 2015, algorithm 1 and the end of section 2; Loshchilov and Hutter 2019,
    algorithm 2, with decay scaled by the learning rate, as implementations do. Biases and
    LayerNorms are spared as above.
    """
    root = tf.sqrt(_reached(c.beta_2, updates))
    corrected = rate * root / _reached(c.beta_1, updates)
    _adam(c, path, variable, m, v, gradient, rate, corrected, root * c.epsilon)


def _adam(c, path, variable, m, v, gradient, decay_rate, rate, epsilon):
    """Moments, decay and update, in the one operation that TensorFlow has for it.

    Written out, every variable takes fifteen operations, together twice as long. The operation's
    own bias correction is silenced by the powers of zero. It subtracts β from 1 in 32 bits, and
    1 - 0.999 is off by 1e-5 there: the moments are too small by that share, for which rate and
    epsilon make up.
    """
    share_m, share_v = _share_in_float32(c.beta_1), _share_in_float32(c.beta_2)
    if is_decayed(path):
        variable.assign(variable * (1.0 - decay_rate * c.weight_decay_rate))
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=m.handle,
        v=v.handle,
        beta1_power=0.0,
        beta2_power=0.0,
        lr=rate * (math.sqrt(share_v) / share_m),
        beta1=c.beta_1,
        beta2=c.beta_2,
        epsilon=epsilon * math.sqrt(share_v),
        grad=gradient,
    )


def _share_in_float32(beta: float) -> float:
    """What is left of 1 - beta, as a share of it, where beta is a 32-bit number."""
    return float(1.0 - np.float64(np.float32(beta))) / (1.0 - beta)


def _lamb(c, path, variable, m, v, gradient, rate, updates):
    """AdamW's direction, as long as the variable itself: large batches bear large rates.

    Source: You et al. 2019, arXiv 1904.00962, algorithm 2, with its bias correction (the
    implementation in google-research/albert has none) and φ the identity. What the paper leaves
    open follows albert's `lamb_optimizer.py` at 6ca4dfd: what is not decayed has no trust ratio
    either, and the ratio is 1 where a norm is 0. The paper does not clip; here the trainer's
    clip by global norm comes before, as for the other optimizers.
    """
    if not is_decayed(path):
        _adamw(c, path, variable, m, v, gradient, rate, updates)
        return
    m.assign(c.beta_1 * m + (1.0 - c.beta_1) * gradient)
    v.assign(c.beta_2 * v + (1.0 - c.beta_2) * tf.square(gradient))
    corrected_m, corrected_v = m / _reached(c.beta_1, updates), v / _reached(c.beta_2, updates)
    direction = corrected_m / (tf.sqrt(corrected_v) + c.epsilon) + c.weight_decay_rate * variable
    length, wanted = tf.norm(direction), tf.norm(variable)
    is_defined = tf.logical_and(length > 0.0, wanted > 0.0)
    ratio = tf.where(is_defined, tf.math.divide_no_nan(wanted, length), 1.0)
    variable.assign_sub(rate * ratio * direction)


_UPDATES: dict[str, Update] = {
    "electra_adam": _electra_adam,
    "adamw": _adamw,
    "lamb": _lamb,
}


def _reached(beta: float, updates: tf.Tensor) -> tf.Tensor:
    """1 - beta^updates, the share of its mean that a moment has reached, to the last bit."""
    if beta == 0.0:
        return tf.ones_like(updates)
    return -tf.math.expm1(updates * math.log(beta))
