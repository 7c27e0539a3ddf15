"""What a run writes down survives a crash, and a resumed run goes on where it was restored."""

from __future__ import annotations

import json

import pytest
import tensorflow as tf

from electra_tf.training.report import RunLog, read_events


class Recorder:
    def __init__(self):
        self.reports = []

    def say(self, text):
        raise AssertionError(text)

    def report(self, report, last_step):
        self.reports.append((report, last_step))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def write(path, *steps, kind="train"):
    path.write_text("".join(json.dumps({"kind": kind, "step": s}) + "\n" for s in steps))


def open_log(path, step, last_step=100):
    recorder, counter = Recorder(), tf.Variable(step, dtype=tf.int64)
    return RunLog(path, counter, last_step, recorder), counter, recorder


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
