"""What is drawn of a run, on its page and in the terminal: the same curves from the same events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from electra_tf.page import Curve

Events = Sequence[Mapping[str, Any]]


class CurveSet(NamedTuple):
    """One chart.

    Fields:
      title: with the unit.
      curves: over training steps.
      level: a horizontal line to compare with: its name and height.
    """

    title: str
    curves: tuple[Curve, ...]
    level: tuple[str, float] | None = None


def run_curves(events: Events, unigram_entropy_nats: float) -> list[CurveSet]:
    """The charts of a pre-training run.

    Args:
      events: of its `metrics.jsonl`.
      unigram_entropy_nats: of its corpus: what a generator without context can reach.
    """

    def curve(name: str, kind: str, metric: str) -> Curve:
        points = [(e["step"], e[metric]) for e in events if e["kind"] == kind and metric in e]
        return Curve(name, [point for point in points if math.isfinite(point[1])])

    def both(metric: str) -> tuple[Curve, Curve]:
        return curve("training", "train", metric), curve("held out", "evaluation", metric)

    return [
        CurveSet(
            "Generator loss at [MASK], nats",
            both("hidden_lm_loss"),
            ("unigram entropy", unigram_entropy_nats),
        ),
        CurveSet("Discriminator loss, nats", both("discriminator_loss")),
        CurveSet(
            "Discriminator AUC",
            (
                *both("discriminator_auc"),
                curve("held out, unigram replacements", "evaluation", "unigram_auc"),
            ),
        ),
        CurveSet(
            "Accuracy on held-out text",
            (
                curve("discriminator", "evaluation", "discriminator_accuracy"),
                curve("calling nothing replaced", "evaluation", "majority_accuracy"),
            ),
        ),
        CurveSet(
            "Share of the tokens",
            (
                curve("masked", "train", "masked_rate"),
                curve("replaced", "train", "replaced_rate"),
            ),
        ),
        CurveSet("Learning rate", (curve("rate", "train", "learning_rate"),)),
        CurveSet("Tokens a second", (curve("trained", "train", "tokens_per_second"),)),
    ]
