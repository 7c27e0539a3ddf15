import html.parser
import math

import pytest

from electra_tf.page import (
    Curve,
    Mark,
    bars,
    chart,
    facts,
    heading,
    note,
    page,
    shaded,
    table,
    ticks,
)

EVIL = '<script>alert("x")</script>&'


class Balance(html.parser.HTMLParser):
    """Fails where a tag is closed that was not open."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    balance = Balance()
    balance.feed(text)
    assert not balance.open
    return balance.seen


def test_every_part_escapes_its_texts():
    parts = [
        heading(EVIL),
        note(EVIL),
        facts({EVIL: EVIL}),
        table([EVIL], [[EVIL]]),
        bars(EVIL, {EVIL: 1}),
        shaded([Mark(EVIL, 0.5, True, True, EVIL)]),
        chart(EVIL, [Curve(EVIL, [(0, 1.0), (1, 2.0)])], EVIL, (EVIL, 1.5)),
    ]
    text = page(EVIL, parts)
    assert "script" not in parsed(text)
    assert text.count("&lt;script&gt;") >= 12


def test_a_page_needs_nothing_else():
    text = page("A", [chart("loss", [Curve("a", [(0, 1.0), (5, 0.5)])])])
    assert not any(
        word in text for word in ("http:", "https:", "<link", "<script", "url(", "@import")
    )


def test_a_curve_with_gaps_is_drawn_in_pieces():
    points = [(0, 1.0), (1, 2.0), (2, math.nan), (3, math.inf), (4, 2.0), (5, 1.0)]
    drawn = chart("loss", [Curve("a", points)])
    assert drawn.count("<polyline") == 2
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_the_ends_of_a_curve_stand_at_the_ends_of_the_drawing():
    drawn = chart("loss", [Curve("a", [(0, 1.0), (10, 3.0)])])
    assert 'points="80.0,226.0 688.0,12.0"' in drawn


def test_long_curves_are_thinned_but_keep_their_end():
    drawn = chart("loss", [Curve("a", [(x, float(x)) for x in range(10_001)])])
    assert len(drawn) < 20_000
    assert "688.0,12.0" in drawn


@pytest.mark.parametrize("points", [[], [(3, 2.0)], [(0, 2.0), (9, 2.0)], [(0, math.nan)]])
def test_a_chart_of_little_is_still_a_chart(points):
    parsed(chart("loss", [Curve("a", points)]))


def test_the_legend_names_the_last_number():
    assert "<b>0.735 nats</b>" in chart("x", [Curve("a", [(0, 0.5), (1, 0.735)])], "nats")
    assert "<b>no data</b>" in chart("x", [Curve("a", [])])


def test_a_judged_piece_is_as_red_as_its_probability():
    line = shaded([Mark("天", 0.25), Mark("汽", 0.9, is_replaced=True, begins_unit=True)])
    assert '<span style="background: rgba(var(--hot), 0.25)">天</span>' in line
    assert (
        '<span class="unit replaced" style="background: rgba(var(--hot), 0.90)">汽</span>' in line
    )


def test_ticks_lie_within_the_range():
    for low, high in [(0.0, 1e-9), (1e-5, 3e-5), (-3.0, 4.0), (0.0, 1e9), (6.999, 7.0)]:
        found = ticks(low, high)
        assert 2 <= len(found) <= 11
        margin = 1e-6 * (high - low) + 1e-10
        assert all(low - margin <= tick <= high + margin for tick in found)
