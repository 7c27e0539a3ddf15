"""What a run writes down survives a crash, and a resumed run goes on where it was restored."""

from __future__ import annotations

import json

import pytest

from electra_tf.training.limits import Limits, Used
from electra_tf.training.report import RunLog, read_events


class Recorder:
    def __init__(self):
        self.reports = []

        self.said = []

    def say(self, text):
        self.said.append(text)

    def report(self, report, last_step):
        self.reports.append((report, last_step))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def write(path, *steps, kind="train"):
    path.write_text("".join(json.dumps({"kind": kind, "step": s}) + "\n" for s in steps))


class Counter:
    """Steps of 50 tokens and half a minute."""

    def __init__(self, step):
        self.assign(step)

    def assign(self, step):
        self.step = step

    def __call__(self):
        return Used(self.step, 50 * self.step, 30.0 * self.step)


def open_log(path, step, last_step=100):
    recorder, counter = Recorder(), Counter(step)
    return RunLog(path, counter, Limits(last_step), recorder), counter, recorder


def test_lines_after_the_restored_step_are_cut_off(path):
    write(path, 10, 20, 30, 40)
    open_log(path, 20)
    assert [event["step"] for event in read_events(path)] == [10, 20]
    assert [p.name for p in path.parent.iterdir()] == ["metrics.jsonl"]


def test_a_fresh_run_starts_an_empty_file(path):
    open_log(path, 0)
    assert path.read_text() == ""
    assert read_events(path.with_name("none.jsonl")) == []


def test_every_report_is_one_line_and_reaches_the_listener(path):
    log, counter, recorder = open_log(path, 0)
    counter.assign(10)
    log.trained({"loss": 2.5, "tokens": 1000.0})
    log.evaluated({"loss": 3.0})
    train, evaluation = (json.loads(line) for line in path.read_text().splitlines())
    assert (train["kind"], train["step"], train["loss"]) == ("train", 10, 2.5)
    assert train["tokens_per_second"] > 0
    assert (train["trained_tokens"], train["minutes"]) == (500, 5.0)
    assert evaluation == {"kind": "evaluation", "step": 10, "loss": 3.0}
    (first, last_step), (second, _) = recorder.reports
    assert (first.kind, first.step, last_step, second.kind) == ("train", 10, 100, "evaluation")
    assert log.evaluations() == [evaluation]
    assert log.has_evaluation(10)
    assert not log.has_evaluation(20)


def test_the_time_left_is_the_mean_of_a_step_times_the_steps_left(path, monkeypatch):
    clock = iter([0.0, 5.0, 5.0, 105.0, 106.0, 106.0])
    monkeypatch.setattr("electra_tf.training.report.time.perf_counter", lambda: next(clock))
    log, counter, recorder = open_log(path, 40)
    counter.assign(50)
    log.trained({"tokens": 500.0})  # 10 steps in 5 seconds
    log.restart_clock()  # 100 seconds of something else
    counter.assign(60)
    log.trained({"tokens": 10.0})  # 10 steps in 1 second
    reports = [report for report, _ in recorder.reports]
    assert [report.tokens_per_second for report in reports] == [100.0, 10.0]
    assert [report.seconds_left for report in reports] == [50 * 5 / 10, 40 * 6 / 20]


def test_a_resumed_run_counts_its_own_steps_even_without_its_old_lines(path, monkeypatch):
    clock = iter([0.0, 5.0, 5.0])
    monkeypatch.setattr("electra_tf.training.report.time.perf_counter", lambda: next(clock))
    log, counter, recorder = open_log(path, 50)
    counter.assign(60)
    log.trained({"tokens": 1.0})  # 10 steps in 5 seconds, 40 to go
    assert recorder.reports[0][0].seconds_left == 20.0


def test_a_last_line_cut_by_a_crash_is_left_out(path):
    write(path, 10, 20)
    with path.open("a") as file:
        file.write('{"kind": "train", "st')
    assert [event["step"] for event in read_events(path)] == [10, 20]
    log, counter, _ = open_log(path, 20)
    counter.assign(30)
    log.trained({"tokens": 1.0})
    assert [event["step"] for event in read_events(path)] == [10, 20, 30]


def test_another_broken_line_is_named(path):
    path.write_text('{"kind": "train", "step": 1}\n{"kind": \n{"kind": "train", "step": 3}\n')
    with pytest.raises(ValueError, match=rf"{path}:2: not a line of JSON"):
        read_events(path)


def test_losses_that_are_not_finite_can_be_written_and_read(path):
    log, counter, _ = open_log(path, 0)
    counter.assign(1)
    log.trained({"loss": float("nan"), "tokens": 1.0})
    assert read_events(path)[0]["loss"] != read_events(path)[0]["loss"]


def test_the_end_is_written_down_with_what_was_used_up(path):
    log, counter, recorder = open_log(path, 0)
    counter.assign(10)
    assert not log.has_ended()
    log.ended("tokens")
    assert read_events(path) == [
        {"kind": "end", "step": 10, "limit": "tokens", "trained_tokens": 500, "minutes": 5.0}
    ]
    assert recorder.said == ["ended by the limit of tokens: 10 steps, 500 tokens, 5.0 minutes"]
    assert open_log(path, 10)[0].has_ended()
    # Trained on, it has not ended any more; back at an earlier step it never did.
    assert not open_log(path, 20)[0].has_ended()
    assert not open_log(path, 5)[0].has_ended()


def evaluated(path, *values, metric="loss"):
    log, counter, _ = open_log(path, 0)
    for step, value in enumerate(values):
        counter.assign(step)
        log.evaluated({metric: value})
    return log


def test_the_best_is_the_lowest_loss_or_the_highest_auc_of_a_trained_network(path):
    log = evaluated(path, 1.0, 5.0, 4.0)  # 1.0 was before the first step
    assert [log.is_best("loss", value) for value in (3.9, 4.0, 4.1)] == [True, False, False]
    log = evaluated(path, 0.9, 0.5, 0.6, metric="discriminator_auc")
    assert [log.is_best("discriminator_auc", v) for v in (0.61, 0.6)] == [True, False]


def test_no_number_is_never_the_best_and_loses_to_every_other(path):
    log = evaluated(path, 1.0, float("nan"))
    assert not log.is_best("loss", float("nan"))
    assert log.is_best("loss", 9.0)
