"""Draws a figure as inline SVG: colours come from the page's style sheet, so that one drawing
serves light, dark and print; every mark carries its run, so that the page can answer a hover."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

import numpy as np

from nht_theory.reporting.marks import (
    INK,
    Axis,
    Band,
    Cells,
    Figure,
    Line,
    Mark,
    Numbers,
    Panel,
    Points,
    Rule,
)
from nht_theory.reporting.scales import Scale, limits, tick_label, ticks
from nht_theory.reporting.thinning import thin

WIDTH, HEIGHT = 1080, 460
"""Of a figure with one panel, about the width of the page, so that text keeps its size."""
PANEL_WIDTH, PANEL_HEIGHT = 540, 340
"""Of each panel where there are several, two to a row."""
MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 66, 18, 30, 46
LETTER = 6.5
"""Width of a letter of a tick label, to make room for names."""
POINTS_OF_ALL_LINES = 60_000
"""Shared between the lines of one panel, so that a page of 1,000 runs stays below 10 MB."""


def draw(figure: Figure) -> str:
    """The figure as one ``<svg>`` element with a title and a description."""
    several = len(figure.panels) > 1
    columns = 2 if several else 1
    width, height = (PANEL_WIDTH, PANEL_HEIGHT) if several else (WIDTH, HEIGHT)
    rows = math.ceil(len(figure.panels) / columns)
    identity = f"figure-{figure.name}"
    drawn = "".join(
        f'<g transform="translate({index % columns * width} {index // columns * height})">'
        + "".join(_panel(panel, width, height, f"{identity}-{index}"))
        + "</g>"
        for index, panel in enumerate(figure.panels)
    )
    return (
        f'<svg viewBox="0 0 {columns * width} {rows * height}" role="img" '
        f'aria-labelledby="{identity}-title {identity}-description">'
        f'<title id="{identity}-title">{escape(figure.title)}</title>'
        f'<desc id="{identity}-description">{escape(figure.caption)}</desc>{drawn}</svg>'
    )


def swatch(mark: Mark) -> str:
    """A small sample of a mark for the legend, without meaning to a screen reader."""
    if isinstance(mark, Line):
        drawn = f'<path class="line {_colour(mark.colour)} {mark.dash}" d="M1 6H25"/>'
    elif isinstance(mark, Points):
        drawn = (
            f'<path class="point {_colour(mark.colour)} {mark.symbol}" '
            f'transform="translate(13 6)" d="{SHAPES[mark.symbol]}"/>'
        )
    elif isinstance(mark, Band):
        drawn = f'<path class="band {_colour(mark.colour)}" d="M1 1H25V11H1z"/>'
    else:
        drawn = ""
    return f'<svg viewBox="0 0 26 12" aria-hidden="true">{drawn}</svg>'


def _colour(index: int) -> str:
    """The style sheet's class of a colour."""
    return "ink" if index == INK else f"c{index}"


def _panel(panel: Panel, width: float, height: float, identity: str) -> Iterator[str]:
    low_x, high_x = limits(panel.x, panel.marks, "x")
    low_y, high_y = limits(panel.y, panel.marks, "y")
    longest = max((len(name) for name in panel.y.categories), default=0)
    left = max(MARGIN_LEFT, LETTER * longest + 34)
    right = width - MARGIN_RIGHT
    top, bottom = MARGIN_TOP, height - MARGIN_BOTTOM
    x = Scale(low_x, high_x, panel.x.log, left, right)
    y = Scale(low_y, high_y, panel.y.log, bottom, top)
    if panel.title:
        title = _fitted(panel.title, right - left)
        yield f'<text class="panel-title" x="{left}" y="{top - 12}">{escape(title)}</text>'
    yield from _horizontal_axis(panel.x, x, top, bottom)
    yield from _vertical_axis(panel.y, y, left, right)
    yield (
        f'<clipPath id="{identity}"><rect x="{left - 4}" y="{top - 4}" '
        f'width="{right - left + 8}" height="{bottom - top + 8}"/></clipPath>'
        f'<g clip-path="url(#{identity})">'
    )
    lines = sum(isinstance(mark, Line) for mark in panel.marks)
    budget = min(200, max(24, POINTS_OF_ALL_LINES // max(lines, 1)))
    for mark in panel.marks:
        yield from _mark(mark, x, y, budget)
    yield "</g>"
    # Labels of rules last and unclipped, so that no curve hides them.
    yield from _rule_labels(panel.marks, x, y)


def _fitted(text: str, width: float) -> str:
    """The text, cut with an ellipsis where it would leave its panel."""
    most = int(width / (1.15 * LETTER))
    return text if len(text) <= most else text[: most - 1] + "…"


def _horizontal_axis(axis: Axis, x: Scale, top: float, bottom: float) -> Iterator[str]:
    values = ticks(axis, x, 8 if x.end - x.start > 500 else 5)
    for value, place in zip(values, x.place(np.array(values)), strict=True):
        yield f'<path class="grid" d="M{place:.1f} {top}V{bottom}"/>'
        yield (
            f'<text class="tick" x="{place:.1f}" y="{bottom + 18}" text-anchor="middle">'
            f"{escape(tick_label(axis, value))}</text>"
        )
    yield f'<path class="axis" d="M{x.start} {bottom}H{x.end}"/>'
    yield (
        f'<text class="label" x="{(x.start + x.end) / 2:.1f}" y="{bottom + 38}" '
        f'text-anchor="middle">{escape(axis.label)}</text>'
    )


def _vertical_axis(axis: Axis, y: Scale, left: float, right: float) -> Iterator[str]:
    values = ticks(axis, y, 20 if axis.categories else 6)
    for value, place in zip(values, y.place(np.array(values)), strict=True):
        yield f'<path class="grid" d="M{left} {place:.1f}H{right}"/>'
        yield (
            f'<text class="tick" x="{left - 6}" y="{place + 4:.1f}" text-anchor="end">'
            f"{escape(tick_label(axis, value))}</text>"
        )
    middle = (y.start + y.end) / 2
    yield (
        f'<text class="label" transform="translate(14 {middle:.1f}) rotate(-90)" '
        f'text-anchor="middle">{escape(axis.label)}</text>'
    )


def _mark(mark: Mark, x: Scale, y: Scale, budget: int) -> Iterator[str]:
    if isinstance(mark, Line):
        yield from _line(mark, x, y, budget)
    elif isinstance(mark, Points):
        yield from _points(mark, x, y)
    elif isinstance(mark, Band):
        yield from _band(mark, x, y)
    elif isinstance(mark, Cells):
        yield from _cells(mark, x, y)
    else:
        yield _rule(mark, x, y)


def _path(x: Numbers, y: Numbers) -> str:
    """A path through the points in relative coordinates of a tenth of a unit, which is short;
    it is broken where a point is missing."""
    parts: list[str] = []
    before: tuple[int, int] | None = None
    for here_x, here_y in zip(x, y, strict=True):
        if not (math.isfinite(here_x) and math.isfinite(here_y)):
            before = None
            continue
        at = (round(10 * float(here_x)), round(10 * float(here_y)))
        if before is None:
            parts.append(f"M{at[0] / 10:g} {at[1] / 10:g}")
        else:
            parts.append(f"l{(at[0] - before[0]) / 10:g} {(at[1] - before[1]) / 10:g}")
        before = at
    return "".join(parts)


def _line(mark: Line, x: Scale, y: Scale, budget: int) -> Iterator[str]:
    across, up = x.place(mark.x), y.place(mark.y)
    finite = np.isfinite(across) & np.isfinite(up)
    if finite.all() and mark.x.size > budget:
        across, up = thin(across, up, budget)
    classes = f"line {_colour(mark.colour)} {mark.dash}" + (" emphasis" if mark.emphasis else "")
    path = _path(across, up)
    if path:
        yield f'<path class="{classes}" data-key="{escape(mark.key)}" d="{path}"/>'


SHAPES = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "triangle": "M0-5L4.6 3.4H-4.6z",
    "square": "M-3.8-3.8H3.8V3.8H-3.8z",
    "diamond": "M0-5.2L5.2 0L0 5.2L-5.2 0z",
    "cross": "M-3.6-3.6L3.6 3.6M3.6-3.6L-3.6 3.6",
}


def _points(mark: Points, x: Scale, y: Scale) -> Iterator[str]:
    across, up = x.place(mark.x), y.place(mark.y)
    low = None if mark.low is None else y.place(mark.low)
    high = None if mark.high is None else y.place(mark.high)
    colour = _colour(mark.colour)
    for index, key in enumerate(mark.keys):
        if not (math.isfinite(across[index]) and math.isfinite(up[index])):
            continue
        shape = f'<path class="point {colour} {mark.symbol}" d="{SHAPES[mark.symbol]}"/>'
        whisker = ""
        if low is not None and high is not None and math.isfinite(low[index] + high[index]):
            # Places are relative to the point; the group moves both.
            below, above = low[index] - up[index], high[index] - up[index]
            whisker = f'<path class="whisker {colour}" d="M0 {below:.1f}V{above:.1f}"/>'
        yield (
            f'<g data-key="{escape(key)}" transform="translate({across[index]:.1f} '
            f'{up[index]:.1f})">{whisker}{shape}</g>'
        )


def _band(mark: Band, x: Scale, y: Scale) -> Iterator[str]:
    across = x.place(mark.x)
    around_x = np.concatenate([across, across[::-1]])
    around_y = np.concatenate([y.place(mark.low), y.place(mark.high)[::-1]])
    path = _path(around_x, around_y)
    if path:
        yield f'<path class="band {_colour(mark.colour)}" d="{path}z"/>'


def _rule(mark: Rule, x: Scale, y: Scale) -> str:
    if mark.axis == "x":
        place = float(x.place(np.array([mark.value]))[0])
        return f'<path class="rule" d="M{place:.1f} {y.end}V{y.start}"/>'
    place = float(y.place(np.array([mark.value]))[0])
    return f'<path class="rule" d="M{x.start} {place:.1f}H{x.end}"/>'


def _rule_labels(marks: tuple[Mark, ...], x: Scale, y: Scale) -> Iterator[str]:
    for mark in marks:
        if not isinstance(mark, Rule) or not mark.label:
            continue
        if mark.axis == "x":
            place, height, anchor = float(x.place(np.array([mark.value]))[0]), y.end - 4, "middle"
        else:
            place, anchor = x.end, "end"
            height = float(y.place(np.array([mark.value]))[0]) - 4
        yield (
            f'<text class="rule-label" x="{place:.1f}" y="{height:.1f}" '
            f'text-anchor="{anchor}">{escape(mark.label)}</text>'
        )


def _cells(mark: Cells, x: Scale, y: Scale) -> Iterator[str]:
    from nht_theory.reporting.colours import cell_colours

    rows, columns = mark.values.shape
    fills = cell_colours(mark)
    edges_x = x.place(np.arange(columns + 1) - 0.5)
    edges_y = y.place(np.arange(rows + 1) - 0.5)
    for row in range(rows):
        for column in range(columns):
            left, right = edges_x[column], edges_x[column + 1]
            below, above = edges_y[row], edges_y[row + 1]
            fill = fills.get((row, column))
            paint = f'style="fill:{fill.fill}"' if fill else 'class="empty"'
            yield (
                f'<rect {paint} x="{left:.1f}" y="{above:.1f}" width="{right - left:.1f}" '
                f'height="{below - above:.1f}"/>'
            )
            text = mark.texts.get((row, column))
            if text:
                ink = f'style="fill:{fill.ink}"' if fill else ""
                yield (
                    f'<text class="cell" {ink} x="{(left + right) / 2:.1f}" '
                    f'y="{(below + above) / 2 + 4:.1f}" text-anchor="middle">{escape(text)}</text>'
                )
