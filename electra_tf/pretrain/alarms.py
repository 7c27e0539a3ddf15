"""What goes wrong in the pre-training of ELECTRA alone. No TensorFlow."""

from __future__ import annotations

import math
from collections.abc import Mapping

_NEXT_TO_NOTHING = 0.97
_MIN_REPLACED_RATE_OF_MASKED = 0.25


def majority_class(metrics: Mapping[str, float]) -> str | None:
    """The discriminator tells all tokens the same chance of being replaced, or nearly so.

    Its loss is then the entropy of the replaced rate. One that has found out no more than that
    special tokens are never replaced stands at 0.98 of it.

    >>> majority_class({"replaced_rate": 0.1, "discriminator_loss": 0.2})
    >>> text = majority_class({"replaced_rate": 0.1, "discriminator_loss": 0.33})
    >>> text.partition(":")[0]
    'the discriminator finds next to nothing (loss 0.330; one answer for all tokens has 0.325)'
    """
    loss, entropy = metrics["discriminator_loss"], _entropy(metrics["replaced_rate"])
    if not loss > _NEXT_TO_NOTHING * entropy or not entropy:
        return None
    return (
        f"the discriminator finds next to nothing (loss {loss:.3f}; one answer for all tokens has "
        f"{entropy:.3f}): try another optimizer.learning_rate, a larger "
        f"objective.discriminator_weight, a smaller generator, or more training.train_steps"
    )


def strong_generator(metrics: Mapping[str, float]) -> str | None:
    """The generator finds nearly all hidden tokens, so the discriminator has little to find.

    >>> strong_generator({"replaced_rate": 0.06, "masked_rate": 0.15})
    >>> text = strong_generator({"replaced_rate": 0.03, "masked_rate": 0.15})
    >>> text.partition(":")[0]
    'only 20% of the hidden tokens are replaced, 3.0% of all, the generator being so good'
    """
    replaced, masked = metrics["replaced_rate"], metrics["masked_rate"]
    if not replaced < _MIN_REPLACED_RATE_OF_MASKED * masked:
        return None
    return (
        f"only {replaced / masked:.0%} of the hidden tokens are replaced, {replaced:.1%} of all, "
        f"the generator being so good: take a smaller generator (a quarter of the discriminator's "
        f"hidden_size), or raise masking.mask_rate or objective.temperature"
    )


def _entropy(rate: float) -> float:
    """Of one yes or no that is yes at this rate, in nats.

    >>> round(_entropy(0.5), 4), _entropy(0.0), _entropy(1.0)
    (0.6931, 0.0, 0.0)
    """
    if not 0.0 < rate < 1.0:
        return 0.0
    return -rate * math.log(rate) - (1.0 - rate) * math.log(1.0 - rate)
