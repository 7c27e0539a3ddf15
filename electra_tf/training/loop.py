"""The outer loop: inner loops of training between reports, checkpoints and evaluations.

Where it pauses is a function of the step alone, so a resumed run reports, saves and evaluates where
one that was never stopped would have.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import orbit
import tensorflow as tf

from electra_tf.training.alarms import Alarms
from electra_tf.training.checkpoint import Checkpoints
from electra_tf.training.interruption import Stopped, StopRequest
from electra_tf.training.limits import Limits, Used
from electra_tf.training.report import RunLog
from electra_tf.training.trainer import Evaluator, NonFiniteGradients, Trainer


class Pace(NamedTuple):
    """Steps between two reports, two checkpoints, two evaluations."""

    report: int
    checkpoint: int
    evaluation: int

    def next_pause(self, step: int, last: int) -> int:
        """The step to train to.

        >>> Pace(report=4, checkpoint=10, evaluation=100).next_pause(8, last=11)
        10
        """
        return min(last, *(step - step % every + every for every in self))


class Loop:
    """Trains a run from where it stands to one of its limits, or until it is asked to stop."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        trainer: Trainer,
        evaluator: Evaluator,
        checkpoints: Checkpoints,
        log: RunLog,
        *,
        limits: Limits,
        pace: Pace,
        alarms: Alarms,
        seconds: tf.Variable,
        stop: StopRequest,
        after_evaluation: Callable[[Mapping[str, float]], None],
        events: Path,
    ):
        """
        Args:
          strategy: where trainer and evaluator compute.
          trainer: restored to where the run stands.
          evaluator: of the same objective.
          checkpoints: restored.
          log: writes reports down.
          limits: where the run ends.
          pace: where it pauses.
          alarms: look at every report of training.
          seconds: float64 scalar, kept in the checkpoints: how long the run has been running.
          stop: the wish to stop.
          after_evaluation: is given the metrics before they are written down.
          events: the folder for TensorBoard.
        """
        self._trainer = trainer
        self._checkpoints = checkpoints
        self._log = log
        self._limits = limits
        self._pace = pace
        self._alarms = alarms
        # What a run said before it was interrupted still stands; look() is blind to restarts.
        for report in log.reports():
            alarms.look(report["step"], report)
        self._seconds = seconds
        self._stop = stop
        self._clock = time.monotonic()
        self._controller = orbit.Controller(
            global_step=trainer.data_step,
            trainer=trainer,
            evaluator=evaluator,
            strategy=strategy,
            train_actions=[self._count, log.trained, self._look, self._leave_if_asked],
            eval_actions=[after_evaluation, log.evaluated],
            steps_per_loop=lambda step: pace.next_pause(int(step), limits.steps) - int(step),
            summary_dir=str(events / "train"),
            eval_summary_dir=str(events / "held_out"),
        )

    def run(self) -> str | None:
        """Trains, and evaluates at the end.

        Returns:
          The name of the limit that ended the run, or None where it was asked to stop: then the
          state is saved, and another call with the same parts goes on.

        Raises:
          ValueError: a checkpoint could not be written, or too many gradients in a row were not
            finite; says which checkpoint is good.
        """
        with _orbit_is_silent():
            while True:
                used = self._count()
                reached = self._limits.reached(used)
                if reached or self._stop.cause:
                    self._save(used.steps)
                if self._stop.cause:
                    return None
                with contextlib.suppress(Stopped):
                    self._evaluate_if_due(used.steps, reached)
                    if self._stop.cause:
                        continue
                    if reached:
                        return reached
                    self._train_to_next_pause(used.steps)

    def _train_to_next_pause(self, step: int) -> None:
        pause = self._pace.next_pause(step, self._limits.steps)
        try:
            self._controller.train(pause)
        except NonFiniteGradients as error:
            good = self._checkpoints.newest(until_step=error.first_step - 1)
            where = f"is {self._checkpoints.path(good)}" if good is not None else "was never saved"
            raise ValueError(f"{error}. The last good checkpoint {where}") from None
        used = self._count()
        if used.steps % self._pace.checkpoint == 0:
            self._save(used.steps)

    def _evaluate_if_due(self, step: int, reached: str | None) -> None:
        is_due = step % self._pace.evaluation == 0 or reached or not self._log.evaluations()
        if is_due and not self._log.has_evaluation(step):
            self._controller.evaluate()

    def _look(self, metrics: Mapping[str, float]) -> None:
        for name, text in self._alarms.look(self._log.used().steps, metrics).items():
            self._log.alarm(name, text)

    def _leave_if_asked(self, _: Mapping[str, float]) -> None:
        """Orbit would train on to the pause."""
        if self._stop.cause:
            raise Stopped

    def _save(self, step: int) -> None:
        self._checkpoints.save(step)
        self._log.restart_clock()

    def _count(self, _: Mapping[str, float] | None = None) -> Used:
        """What is used up, the time since the last count put to it."""
        now = time.monotonic()
        self._seconds.assign_add(now - self._clock)
        self._clock = now
        return self._log.used()


@contextlib.contextmanager
def _orbit_is_silent() -> Iterator[None]:
    """Orbit prints a line at every turn, and warns where an inner loop ends early.

    Our listener shows the first, once and for people; the second is meant.
    """
    before = orbit.controller._log, orbit.controller.logging
    orbit.controller._log = lambda message: None
    orbit.controller.logging = SimpleNamespace(info=lambda *_: None, warning=lambda *_: None)
    try:
        yield
    finally:
        orbit.controller._log, orbit.controller.logging = before
