"""How long work looks: one moving line in a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from electra_tf.training.report import Report

_PLAIN_LINE_SECONDS = 10.0

console = Console(highlight=False, soft_wrap=True)


class Display:
    """Shows building and training; the `progress` and `listener` of the workflows."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task = None
        self._stage = ""
        self._started = self._last_line = time.monotonic()

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_bar()

    def say(self, text: str) -> None:
        """A line of its own, above the moving one."""
        console.print(text, markup=False)

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Characters of a corpus."""
        self._count(stage, done, total, "characters")

    def examples(self, stage: str, done: int, total: int | None) -> None:
        """Examples of a folder of records."""
        self._count(stage, done, total, "examples")

    def _count(self, stage: str, done: int, total: int | None, what: str) -> None:
        if stage != self._stage:
            self._begin(stage)
        rate = done / max(1e-9, time.monotonic() - self._started)
        details = f"{done:,} {what}, {rate:,.0f}/s"
        left = (total - done) / rate if total and rate else None
        self._show(stage, done, total, details, left)

    def report(self, report: Report, last_step: int) -> None:
        """Steps of training, or an evaluation."""
        if report.kind == "evaluation":
            self.say(f"step {report.step:>7,}  held-out text: {_evaluation_line(report.metrics)}")
            return
        if self._stage != "training":
            self._begin("training")
        metrics = report.metrics
        details = (
            f"{report.tokens_per_second:,.0f} tokens/s  loss {metrics['loss']:.2f}  "
            f"generator {metrics['masked_lm_loss']:.2f}  "
            f"discriminator {metrics['discriminator_loss']:.3f}"
        )
        self._show("training", report.step, last_step, details, report.seconds_left, "step ")

    def _begin(self, stage: str) -> None:
        self._close_bar()
        self._stage = stage
        self._started = time.monotonic()
        self._last_line = self._started - _PLAIN_LINE_SECONDS / 2
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[details]}"),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task(stage, details="", total=None)
            self._bar.start()

    def _show(
        self,
        stage: str,
        done: int,
        total: int | None,
        details: str,
        seconds_left: float | None,
        unit: str = "",
    ) -> None:
        if seconds_left:
            details += f"  {duration(seconds_left)} left"
        if self._bar is not None:
            self._bar.update(
                self._task,
                completed=done,
                total=total,
                details=details,
                description=f"{unit}{done:,}" if unit else stage,
            )
            return
        is_last = total is not None and done >= total
        if is_last or time.monotonic() - self._last_line >= _PLAIN_LINE_SECONDS:
            self._last_line = time.monotonic()
            place = f"{unit}{done:,}/{total:,}" if unit and total else stage
            console.print(f"{place}  {details}", markup=False)

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def show_table(title: str, rows: Mapping[str, object]) -> None:
    """Two columns: name and value."""
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        # Text, not markup: a path may well hold [brackets].
        table.add_row(Text(name), Text(f"{value:,}" if isinstance(value, int) else str(value)))
    console.print(table)


def show_columns(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table with a header; numbers stand at the right."""
    rows = list(rows)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    for index, name in enumerate(header):
        is_number = all(isinstance(row[index], int | float) for row in rows)
        # A file name broken in two cannot be copied.
        width = max((len(str(row[0])) for row in rows), default=0) if index == 0 else None
        table.add_column(
            name, justify="right" if is_number else "left", overflow="fold", min_width=width
        )
    for row in rows:
        table.add_row(*[Text(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in row])
    console.print(table)


def _evaluation_line(metrics: Mapping[str, float]) -> str:
    return (
        f"generator loss {metrics['hidden_lm_loss']:.3f} "
        f"(accuracy {metrics['hidden_lm_accuracy']:.1%})  "
        f"discriminator AUC {metrics['discriminator_auc']:.3f} "
        f"(precision {metrics['discriminator_precision']:.1%}, "
        f"recall {metrics['discriminator_recall']:.1%})  "
        f"replaced {metrics['replaced_rate']:.1%}"
    )


def duration(seconds: float) -> str:
    """`2 h 05 min`, `3 min 20 s`, `12 s`.

    >>> duration(7500), duration(200), duration(12)
    ('2 h 05 min', '3 min 20 s', '12 s')
    """
    seconds = round(seconds)
    if seconds >= 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"
    if seconds >= 60:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds} s"
