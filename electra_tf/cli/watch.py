"""`electra-tf watch`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from electra_tf.cli.display import console, duration

if TYPE_CHECKING:
    from electra_tf.pretrain.curves import CurveSet
    from electra_tf.workflows.watch import Look

_CHART_LINES = 11
_COLOURS = ("blue", "orange", "green")


def watch(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    every: Annotated[float, typer.Option("--every", min=0.2, help="Seconds between looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show the curves as they are and end.")] = (
        False
    ),
) -> None:
    """Show a run's curves in the terminal while it trains.

    Ends by itself when the run is finished; Ctrl-C ends only the
    watching. Where the output is no terminal, --once is implied.

    Example:

      electra-tf watch runs/demo
    """
    from electra_tf.workflows.watch import look

    if once or not console.is_terminal:
        console.print(_view(look(run)))
        return
    with Live(console=console, auto_refresh=False, screen=False) as live:
        while True:
            seen = look(run)
            live.update(_view(seen, console.height), refresh=True)
            if seen.is_finished:
                return
            try:
                time.sleep(every)
            except KeyboardInterrupt:
                return


def _view(seen: Look, height: int | None = None) -> Group:
    """A headline and the charts, two in a row where the terminal is wide enough.

    Args:
      seen: the run.
      height: lines there are; the first charts that fit are shown. None = all.
    """
    columns = 2 if console.width >= 110 else 1
    width = console.width // columns - 1
    rows = len(seen.charts) if height is None else max(1, (height - 2) // (_CHART_LINES + 1))
    shown = [_chart(curve_set, width) for curve_set in seen.charts[: rows * columns]]
    state = "finished" if seen.is_finished else f"{duration(seen.seconds_left)} left"
    headline = Text(
        f"{seen.name}  step {seen.step:,} of {seen.last_step:,}  {state}  "
        f"{seen.tokens_per_second:,.0f} tokens/s",
        style="bold",
        overflow="ellipsis",
        no_wrap=True,
    )
    return Group(
        headline, *(_beside(shown[i : i + columns]) for i in range(0, len(shown), columns))
    )


def _beside(charts: list[list[Text]]) -> Text:
    """Charts of equal height, line by line."""
    return Text("\n").join(Text(" ").join(line) for line in zip(*charts, strict=True))


def _chart(curve_set: CurveSet, width: int) -> list[Text]:
    """`_CHART_LINES` + 1 lines of `width` cells: title with the last values, then the drawing."""
    import plotext

    plotext.clear_figure()
    plotext.plot_size(width, _CHART_LINES)
    plotext.theme("clear")
    last = []
    for curve, colour in zip(curve_set.curves, _COLOURS, strict=False):
        if curve.points:
            xs, ys = zip(*curve.points, strict=True)
            plotext.plot(xs, ys, marker="braille", color=None if console.no_color else colour)
            last.append(f"{curve.name} {ys[-1]:.4g}")
    if curve_set.level is not None and last:
        name, level = curve_set.level
        plotext.hline(level)
        last.append(f"{name} {level:.4g}")
    title = Text(f"{curve_set.title}: {', '.join(last) or 'nothing reported yet'}")
    title.truncate(width, overflow="ellipsis", pad=True)
    drawn = Text.from_ansi(plotext.build()).split("\n")
    lines = [title, *drawn[:_CHART_LINES]]
    for line in lines:
        line.truncate(width, pad=True)
    return lines
