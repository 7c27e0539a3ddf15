"""One HTML page that opens offline: no script, nothing fetched; for screen, phone and paper.

Reports are lists of parts, each made by a function of this file; every text is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

_CHART_WIDTH, _CHART_HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 32, 12, 34
_MAX_POINTS = 600  # a curve of more is thinned; the eye sees no difference
_DASHES = ("", "7 4", "2 3", "9 3 2 3")


class Curve(NamedTuple):
    """A line of a chart: `points` are (x, y), in ascending x; a y that is no number is a gap."""

    name: str
    points: Sequence[tuple[float, float]]


def page(title: str, parts: Sequence[str]) -> str:
    """The whole page.

    Args:
      title: plain text; the heading, too.
      parts: HTML, as the other functions here return it.
    """
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """A heading of a part."""
    return f"<h2>{escape(text)}</h2>"


def note(text: str) -> str:
    """A paragraph in small print."""
    return f'<p class="note">{escape(text)}</p>'


def preformatted(text: str) -> str:
    """Text whose lines and blanks matter: a config, what a terminal showed."""
    return f"<pre>{escape(text)}</pre>"


def facts(rows: Mapping[str, str]) -> str:
    """A table of two columns: name and value."""
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>\n{lines}\n</table>"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table with a header; numbers stand at the right. It scrolls where it is too wide."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = (f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    body = "\n".join([f"<tr>{head}</tr>", *lines])
    return f'<div class="wide"><table class="grid">\n{body}\n</table></div>'


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number">{value:.4g}</td>'
    return f"<td>{escape(str(value))}</td>"


def bars(title: str, values: Mapping[str, float]) -> str:
    """A bar for each row; its number stands beside it, so no colour has to be told apart."""
    largest = max(values.values(), default=0) or 1
    total = sum(values.values()) or 1
    rows = "\n".join(
        f"<li><span>{escape(name)}</span>"
        f'<span class="track"><i style="width:{100 * value / largest:.1f}%"></i></span>'
        f"<span>{value:,} <small>{value / total:.1%}</small></span></li>"
        for name, value in values.items()
    )
    return f'{heading(title)}\n<ul class="bars">\n{rows}\n</ul>'


# --- judged text -------------------------------------------------------------------------------


class Mark(NamedTuple):
    """A piece of text as the reader of a report sees it.

    Fields:
      text: shown as it is.
      probability: of having been replaced, shown as colour; None = not judged.
      is_replaced: whether it really was: underlined.
      begins_unit: a gap stands before it.
      hint: shown where the pointer rests.
    """

    text: str
    probability: float | None = None
    is_replaced: bool = False
    begins_unit: bool = False
    hint: str = ""


def shaded(marks: Sequence[Mark]) -> str:
    """A line of text: the more likely a piece was replaced, the redder its ground."""
    return f'<p class="shaded">{"".join(map(_mark, marks))}</p>'


def _mark(mark: Mark) -> str:
    classes = [
        name for name, on in (("unit", mark.begins_unit), ("replaced", mark.is_replaced)) if on
    ]
    attributes = f' class="{" ".join(classes)}"' if classes else ""
    if mark.probability is not None:
        attributes += f' style="background: rgba(var(--hot), {mark.probability:.2f})"'
    if mark.hint:
        attributes += f' title="{escape(mark.hint)}"'
    return f"<span{attributes}>{escape(mark.text)}</span>"


# --- curves ------------------------------------------------------------------------------------


def chart(
    title: str, curves: Sequence[Curve], unit: str = "", level: tuple[str, float] | None = None
) -> str:
    """Curves over training steps, as a drawing with a legend that names the last values.

    Lines differ by dashes as well as by colour.

    Args:
      title: plain text.
      curves: at most eight; those without a point are named with "no data".
      unit: of y, for the legend.
      level: a horizontal line: its name and y.
    """
    points = [p for c in curves for p in c.points if math.isfinite(p[1])]
    legend = [_legend(index, curve, unit) for index, curve in enumerate(curves)]
    if level is not None:
        legend.append(
            f'<li><svg viewBox="0 0 28 8"><line class="level" x1="0" y1="4" x2="28" y2="4"/></svg>'
            f"{escape(level[0])} {_number(level[1])}</li>"
        )
    if not points:
        drawing = '<p class="note">Nothing was reported yet.</p>'
    else:
        heights = [y for _, y in points] + ([level[1]] if level else [])
        drawing = _drawing(
            title, curves, level, (points_range([x for x, _ in points]), points_range(heights))
        )
    return (
        f'<figure>\n<figcaption>{escape(title)}</figcaption>\n{drawing}\n<ul class="legend">'
        f"{''.join(legend)}</ul>\n</figure>"
    )


def charts(drawn: Sequence[str]) -> str:
    """Charts side by side where there is room."""
    inner = "\n".join(drawn)
    return f'<div class="charts">\n{inner}\n</div>'


def points_range(values: Sequence[float]) -> tuple[float, float]:
    """Lowest and highest value, a little apart where they are one.

    >>> points_range([3.0, 1.0]), points_range([2.0])
    ((1.0, 3.0), (1.5, 2.5))
    """
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _drawing(
    title: str,
    curves: Sequence[Curve],
    level: tuple[str, float] | None,
    ranges: tuple[tuple[float, float], tuple[float, float]],
) -> str:
    (x_low, x_high), (y_low, y_high) = ranges
    right, bottom = _CHART_WIDTH - _RIGHT, _CHART_HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_low) / (x_high - x_low)
        up = (y - y_low) / (y_high - y_low)
        return _LEFT + across * (right - _LEFT), bottom - up * (bottom - _TOP)

    parts = []
    for y in ticks(y_low, y_high):
        _, at = place(x_low, y)
        parts.append(f'<line class="rule" x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}"/>')
        parts.append(
            f'<text x="{_LEFT - 6}" y="{at + 6:.1f}" text-anchor="end">{_number(y)}</text>'
        )
    for x in ticks(x_low, x_high):
        at, _ = place(x, y_low)
        parts.append(
            f'<text x="{at:.1f}" y="{bottom + 26}" text-anchor="middle">{_number(x)}</text>'
        )
    if level is not None:
        _, at = place(x_low, level[1])
        parts.append(f'<line class="level" x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}"/>')
    for index, curve in enumerate(curves):
        for piece in _pieces(_thinned(curve.points)):
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in piece))
            shape = "polyline" if len(piece) > 1 else "polygon"
            parts.append(f'<{shape} class="line c{index}" {_dash(index)} points="{path}"/>')
    inner = "\n".join(parts)
    return (
        f'<svg class="chart" viewBox="0 0 {_CHART_WIDTH} {_CHART_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">\n{inner}\n</svg>'
    )


def _legend(index: int, curve: Curve, unit: str) -> str:
    last = [y for _, y in curve.points if math.isfinite(y)][-1:]
    value = f"{_number(last[0])} {unit}".strip() if last else "no data"
    return (
        f'<li><svg viewBox="0 0 28 8"><line class="line c{index}" {_dash(index)} '
        f'x1="0" y1="4" x2="28" y2="4"/></svg>{escape(curve.name)} <b>{escape(value)}</b></li>'
    )


def _dash(index: int) -> str:
    dashes = _DASHES[index % len(_DASHES)]
    return f'stroke-dasharray="{dashes}"' if dashes else ""


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Every n-th point and the last."""
    step = -(-len(points) // _MAX_POINTS) or 1
    thin = list(points[::step])
    return thin if not points or thin[-1] == points[-1] else [*thin, points[-1]]


def _pieces(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Runs of points whose y is a number.

    >>> _pieces([(0, 1.0), (1, float("nan")), (2, 3.0), (3, 4.0)])
    [[(0, 1.0)], [(2, 3.0), (3, 4.0)]]
    """
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if math.isfinite(y):
            pieces[-1].append((x, y))
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two ends, about `count` of them.

    >>> ticks(0, 3000), ticks(6.43, 8.83)
    ([0.0, 1000.0, 2000.0, 3000.0], [6.5, 7.0, 7.5, 8.0, 8.5])
    """
    rough = (high - low) / count
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def _number(value: float) -> str:
    """Short for people.

    >>> [_number(v) for v in (3000.0, 0.735, 6.4301, 0.00025, 1234567.0, 0.0)]
    ['3,000', '0.735', '6.43', '0.00025', '1,234,567', '0']
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value and abs(value) < 1e-4:
        return f"{value:.2g}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.3f}" if value >= 0.1 else f"{value:g}"


_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --dim: #5b6573; --line: #d9dee5;
  --paper: #ffffff; --bar: #2f6fb0; --track: #eef1f5; --hot: 205, 48, 40;
  --c0: #2f6fb0; --c1: #c2571a; --c2: #3c8a4a; --c3: #8a4fae; --c4: #a8324a; --c5: #1f8a8a;
  --c6: #7a6a1f; --c7: #5b6573; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --dim: #9aa5b4; --line: #333c49;
  --paper: #14181f; --bar: #6aa7e4; --track: #232a35; --hot: 240, 84, 74;
  --c0: #6aa7e4; --c1: #f0985a; --c2: #7cc98a; --c3: #c59ae0; --c4: #f08aa0; --c5: #6ad0d0;
  --c6: #d0bf6a; --c7: #9aa5b4; } }
@media print { :root { --ink: #000; --dim: #444; --line: #bbb; --paper: #fff; --bar: #555;
  --track: #eee; } h2 { break-after: avoid; }
  li, tr, figure, .sample { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
.note { color: var(--dim); font-size: .9rem; }
pre { overflow-x: auto; font-size: .85rem; line-height: 1.4; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; overflow-wrap: anywhere; white-space: pre-line; }
th { color: var(--dim); font-weight: 500; width: 14rem; }
.wide { overflow-x: auto; }
.grid th { width: auto; }
.grid td, .grid th { white-space: nowrap; }
.number { text-align: right; }
.bars { list-style: none; margin: 0; padding: 0; font-variant-numeric: tabular-nums; }
.bars li { display: grid; grid-template-columns: 6rem 1fr 10rem; gap: .75rem;
  align-items: center; padding: .12rem 0; }
.bars li > :first-child { color: var(--dim); text-align: right; }
.track { background: var(--track); border-radius: 3px; height: .8rem; overflow: hidden; }
.track i { display: block; height: 100%; background: var(--bar); }
small { color: var(--dim); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr));
  gap: 1.4rem 1.5rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; }
.chart { display: block; width: 100%; height: auto; }
.chart text { fill: var(--dim); font-size: 20px; font-variant-numeric: tabular-nums; }
.rule { stroke: var(--line); stroke-width: 1; }
.level { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 1 3; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); }
.c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); }
.c6 { stroke: var(--c6); } .c7 { stroke: var(--c7); }
.legend { list-style: none; margin: .2rem 0 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: .1rem 1.2rem; font-size: .9rem; font-variant-numeric: tabular-nums; }
.legend svg { width: 28px; height: 8px; margin-right: .4rem; vertical-align: middle; }
.shaded { font-size: 1.15rem; line-height: 2; margin: .2rem 0; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.shaded span { border-radius: 3px; padding: .1rem 0; }
.shaded .unit { margin-left: .4em; }
.sample { margin: 1rem 0; padding-left: .75rem; border-left: 3px solid var(--line); }
.sample > :first-child { color: var(--dim); font-size: 1rem; }
.shaded .replaced { font-weight: 700; text-decoration: underline; text-underline-offset: .25em; }
@media (max-width: 34rem) {
  tr { display: block; } .grid tr { display: table-row; }
  th { display: block; width: auto; border: 0; padding-bottom: 0; }
  td { display: block; padding-top: 0; }
  .grid th, .grid td { display: table-cell; border-bottom: 1px solid var(--line);
    padding: .4rem .75rem .4rem 0; }
  .bars li { grid-template-columns: 4.5rem 1fr 7.5rem; gap: .5rem; font-size: .9rem; }
}
"""
