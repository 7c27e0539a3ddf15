"""Where the outer loop pauses, what ends it, and that it goes on as if it had never paused."""

from __future__ import annotations

import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from electra_tf.training import loop as loop_module
from electra_tf.training.alarms import Alarms, Check
from electra_tf.training.checkpoint import Checkpoints
from electra_tf.training.interruption import StopRequest
from electra_tf.training.limits import Limits, Used
from electra_tf.training.loop import Loop, Pace
from electra_tf.training.report import RunLog
from electra_tf.training.trainer import Evaluator, Trainer

ROWS = 4
PACE = Pace(report=2, checkpoint=3, evaluation=4)


class Mean(tf.Module):
    """loss = weight · mean of the rows; every row is one token."""

    def __init__(self):
        super().__init__()
        self.sum_shapes = {"real_tokens": (), "rows": ()}
        self.weight = keras.Variable(np.zeros(1, np.float32), name="weight")
        self.trained_weights = [self.weight]

    def prepare(self, batch, key):
        return (batch,), {}

    def loss(self, prepared, counts, key, training):
        (rows,) = prepared
        total = tf.reduce_sum(rows)
        loss = tf.convert_to_tensor(self.weight)[0] * total / ROWS
        return loss, {"real_tokens": tf.constant(float(ROWS)), "rows": total}

    def metrics(self, sums):
        return {"loss": float(sums["rows"] / sums["real_tokens"]) if sums["real_tokens"] else 0.0}


class Descent(tf.Module):
    def __init__(self, objective):
        super().__init__()
        self._objective = objective

    def apply(self, gradients, learning_rate, update_step):
        self._objective.weight.value.assign_sub(learning_rate * gradients[0])


class Recorder:
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)

    def report(self, report, last_step):
        pass


def values_of(step):
    """The rows of a step: its number, four times."""
    return tf.fill([ROWS], tf.cast(step, tf.float32))


class Run:
    """A run in a folder, as a fresh process would assemble it."""

    def __init__(self, folder, limits, pace=PACE, bad_from=None, checks=()):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.stop = StopRequest()
        self.listener = Recorder()
        self.after_evaluation = lambda metrics: None
        strategy = tf.distribute.OneDeviceStrategy("CPU:0")

        def make_dataset(context, first_step):
            steps = tf.data.Dataset.range(first_step, 1000)
            bad = 10**6 if bad_from is None else bad_from
            return steps.map(lambda s: values_of(s) if s < bad else values_of(s) * math.nan)

        with strategy.scope():
            self.objective = Mean()
            self.trainer = Trainer(
                strategy,
                self.objective,
                Descent(self.objective),
                lambda step: tf.constant(1.0),
                make_dataset,
                batch_size=ROWS,
                accumulation_steps=1,
                clip_norm=1e9,
                seed=1,
                xla=False,
                max_skipped_steps=2,
                stop=self.stop.flag,
            )
            evaluator = Evaluator(
                strategy,
                self.objective,
                lambda context: tf.data.Dataset.from_tensors(values_of(7)).repeat(3),
                batch_size=ROWS,
                seed=1,
                stop=self.stop.flag,
            )
            self.seconds = tf.Variable(0.0, dtype=tf.float64)
        checkpoint = tf.train.Checkpoint(
            weight=self.objective.weight.value, seconds=self.seconds, **self.trainer.state
        )
        self.checkpoints = Checkpoints(checkpoint, folder / "checkpoints", keep=9)
        self.checkpoints.restore()
        self.log = RunLog(folder / "metrics.jsonl", self.used, limits, self.listener)
        self.loop = Loop(
            strategy,
            self.trainer,
            evaluator,
            self.checkpoints,
            self.log,
            limits=limits,
            pace=pace,
            alarms=Alarms(checks),
            seconds=self.seconds,
            stop=self.stop,
            after_evaluation=lambda metrics: self.after_evaluation(metrics),
            events=folder / "events",
        )

    def used(self):
        return Used(
            int(self.trainer.data_step.numpy()),
            int(self.trainer.trained_tokens.numpy()),
            float(self.seconds.numpy()),
        )

    def events(self, kind):
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["kind"] == kind]

    def steps(self, kind):
        return [event["step"] for event in self.events(kind)]

    def saved(self):
        folder = self.folder / "checkpoints"
        return sorted(int(path.stem.partition("-")[2]) for path in folder.glob("ckpt-*.index"))


@pytest.fixture(autouse=True)
def ticking_clock(monkeypatch):
    """Every look at the clock of the loop is a second later than the one before."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(loop_module.time, "monotonic", lambda: float(next(ticks)))


def test_it_pauses_where_the_step_says(tmp_path):
    run = Run(tmp_path, Limits(steps=10))
    assert run.loop.run() == "steps"
    assert run.steps("train") == [2, 3, 4, 6, 8, 9, 10]
    assert run.steps("evaluation") == [0, 4, 8, 10]
    assert run.saved() == [3, 6, 9, 10]
    # Means of the steps since the pause before, the first being step 0.
    assert [event["loss"] for event in run.events("train")] == [0.5, 2, 3, 4.5, 6.5, 8, 9]
    assert [event["loss"] for event in run.events("evaluation")] == [7.0] * 4
    assert float(run.objective.weight.value[0]) == -45.0


def test_tokens_end_it_at_the_first_pause_after_them(tmp_path):
    run = Run(tmp_path, Limits(steps=100, tokens=21))  # six steps of four; five are too few
    assert run.loop.run() == "tokens"
    assert run.used()[:2] == (6, 24)
    assert run.steps("evaluation")[-1] == 6
    assert run.saved()[-1] == 6
    # A further start finds that there is nothing left; with more of them it goes on.
    assert Run(tmp_path, Limits(steps=100, tokens=24)).loop.run() == "tokens"
    longer = Run(tmp_path, Limits(steps=100, tokens=25))
    assert longer.loop.run() == "tokens"
    assert longer.used()[:2] == (8, 32)


def test_minutes_count_over_all_starts(tmp_path):
    first = Run(tmp_path, Limits(steps=4))
    first.loop.run()
    seconds = first.used().seconds
    assert seconds > 0
    second = Run(tmp_path, Limits(steps=100, minutes=(seconds + 5) / 60))
    assert second.used().seconds <= seconds
    assert second.loop.run() == "minutes"
    assert seconds + 5 <= second.used().seconds <= seconds + 10
    assert 4 < second.used().steps < 12
    assert second.saved()[-1] == second.used().steps
    assert second.steps("evaluation")[-1] == second.used().steps
    assert second.events("train")[-1]["minutes"] > 0


def test_a_request_to_stop_saves_after_the_step_under_way(tmp_path):
    whole = Run(tmp_path / "whole", Limits(steps=10))
    whole.loop.run()
    run = Run(tmp_path / "stopped", Limits(steps=10), pace=Pace(100, 100, 5))
    # Evaluations come at 0, 5 and 10; the wish is made during the second.
    run.after_evaluation = lambda metrics: run.used().steps and run.stop.make("SIGTERM")
    assert run.loop.run() is None
    assert run.saved() == [5]
    again = Run(tmp_path / "stopped", Limits(steps=10), pace=Pace(100, 100, 5))
    again.stop.make("SIGTERM")  # before its first step
    assert again.loop.run() is None
    assert again.used().steps == 5
    last = Run(tmp_path / "stopped", Limits(steps=10), pace=Pace(100, 100, 5))
    assert last.loop.run() == "steps"
    assert last.used()[:2] == whole.used()[:2]
    assert np.array_equal(last.objective.weight.value, whole.objective.weight.value)
    assert last.steps("evaluation") == [0, 5, 10]


def test_a_request_during_an_inner_loop_ends_it(tmp_path):
    run = Run(tmp_path, Limits(steps=100), pace=Pace(50, 50, 50))
    train = run.trainer.train

    def asked(num_steps):
        run.stop.make("Ctrl-C")
        return train(num_steps)

    run.trainer.train = asked
    assert run.loop.run() is None
    assert (run.used().steps, run.saved(), run.steps("train")) == (1, [1], [1])


def test_a_request_during_an_evaluation_ends_it_unwritten(tmp_path):
    run = Run(tmp_path, Limits(steps=3))
    evaluate = run.loop._controller.evaluator.evaluate

    def asked(num_steps):
        run.stop.make("SIGTERM")
        return evaluate(num_steps)

    run.loop._controller.evaluator.evaluate = asked
    assert run.loop.run() is None
    assert run.steps("evaluation") == []
    assert Run(tmp_path, Limits(steps=3)).loop.run() == "steps"
    assert run.steps("evaluation") == [0, 3]


def test_too_many_bad_gradients_name_the_last_good_checkpoint(tmp_path):
    run = Run(tmp_path, Limits(steps=100), pace=Pace(2, 3, 50), bad_from=7)
    good = tmp_path / "checkpoints/ckpt-6"
    with pytest.raises(ValueError, match=rf"steps 8 to 10 had .*last good checkpoint is {good}$"):
        run.loop.run()
    assert run.saved() == [3, 6, 9]  # the one of step 9 stands among bad steps
    run = Run(tmp_path / "early", Limits(steps=100), pace=Pace(9, 9, 9), bad_from=0)
    with pytest.raises(ValueError, match="last good checkpoint was never saved"):
        run.loop.run()


def test_alarms_are_said_and_written_once(tmp_path):
    check = Check("high", lambda metrics: "too high" if metrics["loss"] > 4 else None)
    run = Run(tmp_path, Limits(steps=10), checks=[check])
    run.loop.run()
    (alarm,) = run.events("alarm")
    assert alarm == {"kind": "alarm", "step": 6, "name": "high", "text": "too high"}
    assert run.listener.said == ["step 6: too high"]


def test_the_first_evaluation_of_a_run_comes_wherever_it_starts(tmp_path):
    Run(tmp_path, Limits(steps=3)).loop.run()
    (tmp_path / "metrics.jsonl").unlink()
    run = Run(tmp_path, Limits(steps=6))
    run.loop.run()
    assert run.steps("evaluation") == [3, 4, 6]
