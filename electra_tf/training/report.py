"""What a run tells: one JSON line an event in `metrics.jsonl`, and the same to a listener."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import tensorflow as tf


class Report(NamedTuple):
    """Some steps of training, or one evaluation.

    Fields:
      kind: `train` (means since the last report) or `evaluation` (held-out text).
      step: the step it ends at.
      metrics: name → number.
      tokens_per_second: real tokens trained on, 0.0 for an evaluation.
      seconds_left: until the last step at the mean speed so far, evaluations left out.
    """

    kind: str
    step: int
    metrics: Mapping[str, float]
    tokens_per_second: float
    seconds_left: float


class Listener(Protocol):
    """Who shows a run to people."""

    def say(self, text: str) -> None:
        """A sentence worth a line of its own."""

    def report(self, report: Report, last_step: int) -> None:
        """Progress."""


class RunLog:
    """Orbit actions that write every report down and pass it on."""

    def __init__(self, path: Path, step: tf.Variable, last_step: int, listener: Listener):
        """Cuts off lines of steps that are about to be trained again.

        Args:
          path: the `metrics.jsonl` of the run.
          step: the run's step counter, already restored.
          last_step: where the run ends.
          listener: who shows it.
        """
        self._path = path
        self._step = step
        self._last_step = last_step
        self._listener = listener
        self._first_step = int(step.numpy())
        self._events = _keep_until(path, self._first_step)
        self._trained_seconds = 0.0
        self.restart_clock()

    def restart_clock(self) -> None:
        """Training goes on from here; what came before was no training."""
        self._clock = time.perf_counter()

    def has_evaluation(self, step: int) -> bool:
        """True if the held-out text was looked at after this step."""
        return any(e["kind"] == "evaluation" and e["step"] == step for e in self._events)

    def evaluations(self) -> list[dict]:
        """All evaluations of the run, oldest first."""
        return [event for event in self._events if event["kind"] == "evaluation"]

    def trained(self, metrics: Mapping[str, float]) -> None:
        """Orbit calls it after each inner loop."""
        seconds = time.perf_counter() - self._clock
        step = int(self._step.numpy())
        self._trained_seconds += seconds
        left = (self._last_step - step) * self._trained_seconds / max(1, step - self._first_step)
        self._add(Report("train", step, metrics, metrics["tokens"] / seconds, left))
        self.restart_clock()

    def evaluated(self, metrics: Mapping[str, float]) -> None:
        """Orbit calls it after each evaluation."""
        self._add(Report("evaluation", int(self._step.numpy()), metrics, 0.0, 0.0))
        self.restart_clock()

    def _add(self, report: Report) -> None:
        event = {"kind": report.kind, "step": report.step, **report.metrics}
        if report.kind == "train":
            event["tokens_per_second"] = report.tokens_per_second
        self._events.append(event)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
        self._listener.report(report, self._last_step)


def read_events(path: str | Path) -> list[dict]:
    """The events of a `metrics.jsonl`; a last line cut short by a crash is left out.

    Raises:
      ValueError: another line is not JSON; names file and line.
    """
    path = Path(path)
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    events = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            events.append(json.loads(line))
        except ValueError:
            if number < len(lines):
                raise ValueError(f"{path}:{number}: not a line of JSON: {line[:60]}") from None
    return events


def _keep_until(path: Path, step: int) -> list[dict]:
    """Rewrites the file without events after `step`; returns those that stay."""
    events = [event for event in read_events(path) if event["step"] <= step]
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text("".join(json.dumps(e) + "\n" for e in events), encoding="utf-8")
    os.replace(temporary, path)
    return events
