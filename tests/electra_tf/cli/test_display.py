"""What a person sees while it works."""

import io

import pytest
from rich.console import Console

from electra_tf.cli import display
from electra_tf.training.report import Report

METRICS = {
    "loss": 20.5,
    "masked_lm_loss": 5.5,
    "hidden_lm_loss": 6.25,
    "hidden_lm_accuracy": 0.25,
    "discriminator_loss": 0.3,
    "discriminator_auc": 0.876,
    "discriminator_precision": 0.5,
    "discriminator_recall": 0.125,
    "replaced_rate": 0.11,
}


@pytest.fixture
def screen(monkeypatch):
    """Collects what is printed; `screen(True)` is a terminal."""

    def make(is_terminal):
        file = io.StringIO()
        console = Console(file=file, force_terminal=is_terminal, width=200, highlight=False)
        monkeypatch.setattr(display, "console", console)
        return file

    return make


def test_elsewhere_than_in_a_terminal_there_are_plain_lines_now_and_then(screen, monkeypatch):
    file = screen(False)
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(display.time, "monotonic", lambda: next(clock))
    with display.Display() as shown:
        for step in range(1, 21):
            shown.report(Report("train", step, METRICS, 1234.5, 80.0), 20)
    lines = file.getvalue().splitlines()
    assert 2 <= len(lines) < 15
    assert lines[-1].startswith("step 20/20  1,234 tokens/s  loss 20.50  generator 5.50")
    assert "1 min 20 s left" in lines[0]
    assert "\x1b" not in file.getvalue()


def test_in_a_terminal_one_line_moves_and_evaluations_stay(screen):
    file = screen(True)
    with display.Display() as shown:
        shown.progress("text into records", 500, 1000)
        shown.report(Report("train", 10, METRICS, 1000.0, 5.0), 20)
        shown.report(Report("evaluation", 10, METRICS, 0.0, 0.0), 20)
    text = file.getvalue()
    assert "\x1b[" in text
    assert "AUC 0.876 (precision 50.0%, recall 12.5%)" in text
    assert "replaced 11.0%" in text


def test_a_bar_is_gone_after_an_error(screen):
    screen(True)
    shown = display.Display()
    shown.progress("words counted", 1, None)
    assert shown._bar is not None
    shown.__exit__(ValueError, ValueError("no"), None)
    assert shown._bar is None
