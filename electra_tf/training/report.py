"""What a run tells: one JSON line an event in `metrics.jsonl`, and the same to a listener."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from electra_tf.training.limits import Limits, Used
from electra_tf.whole_folder import replace_text


class Report(NamedTuple):
    """Some steps of training, or one evaluation.

    Fields:
      kind: `train` (means since the last report) or `evaluation` (held-out text).
      step: the step it ends at.
      metrics: name → number.
      tokens_per_second: real tokens trained on, 0.0 for an evaluation.
      seconds_left: until a limit at the mean speed so far, evaluations left out.
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

    def __init__(self, path: Path, used: Callable[[], Used], limits: Limits, listener: Listener):
        """Cuts off lines of steps that are about to be trained again.

        Args:
          path: the `metrics.jsonl` of the run.
          used: tells what the run has used up; it is restored already.
          limits: where the run ends.
          listener: who shows it.
        """
        self.used = used
        self._path = path
        self._limits = limits
        self._listener = listener
        self._start = used()
        self._events = _keep_until(path, self._start.steps)
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

    def reports(self) -> list[dict]:
        """All reports of training, oldest first."""
        return [event for event in self._events if event["kind"] == "train"]

    def trained(self, metrics: Mapping[str, float]) -> None:
        """Orbit calls it after each inner loop."""
        seconds = time.perf_counter() - self._clock
        self._trained_seconds += seconds
        used = self.used()
        left = self._limits.seconds_left(used, self._start, self._trained_seconds)
        report = Report("train", used.steps, metrics, metrics["tokens"] / seconds, left)
        self._write(
            {
                "kind": "train",
                "step": used.steps,
                **metrics,
                "tokens_per_second": report.tokens_per_second,
                "seconds_left": left,
                "trained_tokens": used.tokens,
                "minutes": used.seconds / 60,
            }
        )
        self._listener.report(report, self._limits.steps)
        self.restart_clock()

    def evaluated(self, metrics: Mapping[str, float]) -> None:
        """Orbit calls it after each evaluation."""
        step = self.used().steps
        self._write({"kind": "evaluation", "step": step, **metrics})
        self._listener.report(Report("evaluation", step, metrics, 0.0, 0.0), self._limits.steps)
        self.restart_clock()

    def alarm(self, name: str, text: str) -> None:
        """Writes down and says that something goes wrong."""
        step = self.used().steps
        self._write({"kind": "alarm", "step": step, "name": name, "text": text})
        self._listener.say(f"step {step:,}: {text}")

    def ended(self, limit: str) -> None:
        """Writes down and says which limit ended the run, and what it has used up."""
        steps, tokens, seconds = self.used()
        spent = {"trained_tokens": tokens, "minutes": seconds / 60}
        self._write({"kind": "end", "step": steps, "limit": limit, **spent})
        self._listener.say(
            f"ended by the limit of {limit}: {steps:,} steps, {tokens:,} tokens, "
            f"{seconds / 60:,.1f} minutes"
        )

    def has_ended(self) -> bool:
        """True if the run ended at the step it stands at."""
        step = self.used().steps
        return any(e["kind"] == "end" and e["step"] == step for e in self._events)

    def is_best(self, metric: str, value: float) -> bool:
        """True if no evaluation of a trained network was as good so far.

        Args:
          metric: its name; of one that ends in `auc` more is better, of any other less.
          value: what it is now. NaN is never the best.
        """
        sign = 1.0 if metric.endswith("auc") else -1.0
        earlier = [e[metric] for e in self.evaluations() if e["step"] > 0]
        return not math.isnan(value) and all(
            sign * value > sign * v for v in earlier if not math.isnan(v)
        )

    def _write(self, event: dict) -> None:
        self._events.append(event)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


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
    replace_text(path, "".join(json.dumps(e) + "\n" for e in events))
    return events
