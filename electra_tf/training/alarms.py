"""Alarms: what goes wrong in a training, seen in its numbers, said once, with what to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

_MAX_WAITING_RATE = 0.2


class Check(NamedTuple):
    """One thing that can go wrong.

    Fields:
      name: of the alarm, as `metrics.jsonl` has it.
      find: from the metrics of some steps to a sentence that says what is wrong and what to try, or
        None.
      first_step: reports before it are not looked at.
    """

    name: str
    find: Callable[[Mapping[str, float]], str | None]
    first_step: int = 0


class Alarms:
    """Tells of each thing once, and again only after it has been well in between."""

    def __init__(self, checks: Sequence[Check]):
        self._checks = checks
        self._standing: set[str] = set()

    def look(self, step: int, metrics: Mapping[str, float]) -> dict[str, str]:
        """The sentences of alarms that are new, by their names."""
        found = {}
        for check in self._checks:
            text = check.find(metrics) if step >= check.first_step else None
            if text and check.name not in self._standing:
                found[check.name] = text
            (self._standing.add if text else self._standing.discard)(check.name)
        return found


def not_finite(metrics: Mapping[str, float]) -> str | None:
    """Steps were skipped because a gradient was not finite.

    In float16 that is how the loss scale is found, so only a scale at its lowest says something.
    """
    skipped = metrics["skipped_steps"]
    if not skipped or metrics.get("loss_scale", 1.0) > 1.0:
        return None
    return (
        f"{skipped:,.0f} steps had a loss or gradient that is not finite and were skipped: lower "
        f"optimizer.learning_rate, lengthen schedule.warmup_steps, or set training.precision to "
        f"float32"
    )


def slow_input(metrics: Mapping[str, float]) -> str | None:
    """Reading batches takes longer than training on them."""
    waiting = metrics["waiting_rate"]
    if waiting <= _MAX_WAITING_RATE:
        return None
    return (
        f"{waiting:.0%} of the time goes on waiting for batches: put the records on a faster disk, "
        f"or leave more processor cores to reading them"
    )
