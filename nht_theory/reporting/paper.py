"""The same figures in matplotlib, at the width of a column, with their numbers beside them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nht_theory.errors import InputError
from nht_theory.reporting.colours import LIGHT
from nht_theory.reporting.marks import (
    INK,
    Axis,
    Band,
    Cells,
    Figure,
    Line,
    Mark,
    Panel,
    Points,
    Rule,
    legend,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

COLUMN, PAGE = 3.25, 6.75
"""Width in inches of one column and of both, as in two-column conference styles."""
FORMATS = ("pdf", "svg", "png", "eps")
MARKERS = {"circle": "o", "triangle": "^", "square": "s", "diamond": "D", "cross": "x"}
DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}


@contextmanager
def paper_style() -> Iterator[None]:
    """matplotlib with the style of the papers: column width, vector fonts, 8 point text."""
    import matplotlib.pyplot as plt

    style = files("nht_theory.reporting") / "paper.mplstyle"
    with as_file(style) as path, plt.style.context(str(path)):
        yield


def write_figure(figure: Figure, path: Path, *, width: float | None = None) -> tuple[Path, Path]:
    """Write a figure and, beside it, the numbers that it shows as CSV.

    Args:
        figure: what to draw.
        path: .pdf, .svg, .png or .eps.
        width: in inches; one column for one panel, both columns for several.

    Returns:
        the two files written. The same figure gives the same bytes.

    Raises:
        InputError: the format is none of these, or the directory does not exist.
    """
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise InputError(
            f"{kind or 'no suffix'!r} is no format of a figure",
            source=path,
            remedy=f"end the name in .{', .'.join(FORMATS)}",
        )
    if not path.parent.is_dir():
        raise InputError("no such directory", source=path.parent, remedy="create it first")
    import matplotlib.pyplot as plt

    with paper_style():
        drawn = draw(figure, width=width)
        # A file must not know when it was made: the same command gives the same bytes.
        dated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
        drawn.savefig(path, metadata=dated)
        plt.close(drawn)
    numbers = path.with_suffix(".csv")
    write_numbers(figure, numbers)
    return path, numbers


def draw(figure: Figure, *, width: float | None = None) -> MatplotlibFigure:
    """The figure in matplotlib, in the style that is current."""
    import matplotlib.pyplot as plt

    several = len(figure.panels) > 1
    columns = min(2, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    across = width or (PAGE if several else COLUMN)
    size = (across, rows * across / columns * 0.72)
    drawn, grid = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for place, panel in enumerate(figure.panels):
        draw_panel(panel, grid[place // columns][place % columns])
    for place in range(len(figure.panels), rows * columns):
        grid[place // columns][place % columns].set_axis_off()
    labels = list(legend(figure))
    if labels:
        handles: dict[str, Artist] = {}
        for axes in grid.flat:
            own, names = axes.get_legend_handles_labels()
            handles.update(zip(names, own, strict=True))
        # Seven-point letters are about a twentieth of an inch wide.
        fits = int(across / (0.35 + 0.055 * max(map(len, labels))))
        drawn.legend(
            [handles[label] for label in labels],
            labels,
            loc="outside lower center",
            ncols=max(1, min(len(labels), fits)),
        )
    return drawn


def draw_panel(panel: Panel, axes: Axes) -> Axes:
    """Draw one panel into given axes."""
    for mark in panel.marks:
        _draw_mark(mark, axes)
    _set_axis(panel.x, axes.xaxis, axes.set_xscale, axes.set_xlim)
    _set_axis(panel.y, axes.yaxis, axes.set_yscale, axes.set_ylim)
    axes.set_title(panel.title)
    return axes


def _colour(index: int) -> str:
    return "black" if index == INK else LIGHT[index]


def _draw_mark(mark: Mark, axes: Axes) -> None:
    if isinstance(mark, Line):
        axes.plot(
            mark.x,
            mark.y,
            DASHES[mark.dash],
            color=_colour(mark.colour),
            label=mark.legend or None,
            linewidth=1.4 if mark.emphasis else None,
        )
    elif isinstance(mark, Points):
        _draw_points(mark, axes)
    elif isinstance(mark, Band):
        colour = _colour(mark.colour)
        axes.fill_between(mark.x, mark.low, mark.high, color=colour, alpha=0.15, linewidth=0)
    elif isinstance(mark, Cells):
        _draw_cells(mark, axes)
    else:
        _draw_rule(mark, axes)


def _draw_points(mark: Points, axes: Axes) -> None:
    colour = _colour(mark.colour)
    if mark.low is not None and mark.high is not None:
        known = np.isfinite(mark.low) & np.isfinite(mark.high)
        axes.vlines(mark.x[known], mark.low[known], mark.high[known], colour, linewidth=0.7)
    axes.plot(
        mark.x,
        mark.y,
        linestyle="none",
        marker=MARKERS[mark.symbol],
        color=colour,
        label=mark.legend or None,
    )


def _draw_cells(mark: Cells, axes: Axes) -> None:
    from nht_theory.reporting.colours import cell_colours

    axes.grid(visible=False)
    for (row, column), colour in cell_colours(mark).items():
        square = axes.axhspan(row - 0.5, row + 0.5, color=colour.fill, linewidth=0)
        square.set_bounds(column - 0.5, row - 0.5, 1, 1)
        square.set_transform(axes.transData)
        text = mark.texts.get((row, column), "")
        axes.text(column, row, text, ha="center", va="center", color=colour.ink, fontsize=6)


def _draw_rule(mark: Rule, axes: Axes) -> None:
    draw_line = axes.axvline if mark.axis == "x" else axes.axhline
    draw_line(mark.value, color="0.4", linestyle=":", linewidth=0.7)
    if mark.label and mark.axis == "x":
        axes.text(mark.value, 1.0, mark.label, transform=axes.get_xaxis_transform(), fontsize=6)
    elif mark.label:
        axes.text(
            1.0,
            mark.value,
            mark.label,
            transform=axes.get_yaxis_transform(),
            ha="right",
            fontsize=6,
        )


def _set_axis(axis: Axis, drawn: Any, set_scale: Any, set_limits: Any) -> None:
    if axis.log:
        set_scale("log")
    if axis.categories:
        long = max(map(len, axis.categories)) > 5
        every = max(1, len(axis.categories) // 8)
        places = range(0, len(axis.categories), every)
        turned = 90 if long and drawn.axis_name == "x" else 0
        drawn.set_ticks(list(places), [axis.categories[place] for place in places], rotation=turned)
        set_limits(-0.5, len(axis.categories) - 0.5)
    elif axis.limits is not None:
        set_limits(*axis.limits)
    drawn.set_label_text(axis.label)


HEADER = ("panel", "mark", "key", "category", "x", "y", "low", "high")


def write_numbers(figure: Figure, path: Path) -> None:
    """Every number of a figure as CSV: one row a point, empty where there is none."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for place, panel in enumerate(figure.panels):
            for mark in panel.marks:
                writer.writerows((panel.title or place, *row) for row in _rows(mark, panel))


def _rows(mark: Mark, panel: Panel) -> Iterator[tuple[object, ...]]:
    if isinstance(mark, Line):
        for x, y in zip(mark.x, mark.y, strict=True):
            yield "line", mark.key, mark.legend, _cell(x), _cell(y), "", ""
    elif isinstance(mark, Points):
        low = np.full(mark.x.shape, np.nan) if mark.low is None else mark.low
        high = np.full(mark.x.shape, np.nan) if mark.high is None else mark.high
        for key, *numbers in zip(mark.keys, mark.x, mark.y, low, high, strict=True):
            yield "point", key, mark.legend, *(_cell(value) for value in numbers)
    elif isinstance(mark, Band):
        for x, low_, high_ in zip(mark.x, mark.low, mark.high, strict=True):
            yield "band", "", mark.legend, _cell(x), "", _cell(low_), _cell(high_)
    elif isinstance(mark, Cells):
        for (row, column), value in np.ndenumerate(mark.values):
            x = panel.x.categories[column] if panel.x.categories else column
            y = panel.y.categories[row] if panel.y.categories else row
            yield "cell", mark.texts.get((row, column), ""), _cell(value), x, y, "", ""
    else:
        x, y = (_cell(mark.value), "") if mark.axis == "x" else ("", _cell(mark.value))
        yield "rule", mark.label, "", x, y, "", ""


def _cell(value: float) -> str:
    """A number that reads back to the same bits, or nothing."""
    return repr(float(value)) if np.isfinite(value) else ""
