"""What a figure is, apart from how it is drawn: axes, marks and a caption.

A figure is built once from the data; :mod:`nht_theory.reporting.svg` draws it for the report,
:mod:`nht_theory.reporting.paper` for a publication, and the CSV beside it holds the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

DASHES = ("solid", "dashed", "dotted", "dashdot")
SYMBOLS = ("circle", "triangle", "square", "diamond", "cross")
COLOURS = 8
"""Colours of the palette; a figure with more categories varies the dash as well."""
INK = -1
"""The colour of the text: for marks that belong to no category."""


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        label: the quantity with its unit.
        log: logarithmic; values that are not positive are then not drawn.
        categories: names of the places 0, 1, 2 ... when the axis is not a number line.
        limits: first and last value shown; None lets the data decide.
    """

    label: str
    log: bool = False
    categories: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Line:
    """A curve. ``key`` names the run (or the curve) it belongs to; ``legend`` its category."""

    key: str
    x: Numbers
    y: Numbers
    colour: int = 0
    dash: str = "solid"
    legend: str = ""
    emphasis: bool = False


@dataclass(frozen=True, eq=False)
class Points:
    """Single observations, each with its own key; ``low`` and ``high`` are vertical intervals,
    NaN where a point has none."""

    keys: tuple[str, ...]
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    colour: int = 0
    symbol: str = "circle"
    legend: str = ""


@dataclass(frozen=True, eq=False)
class Band:
    """The region between two curves over the same x."""

    x: Numbers
    low: Numbers
    high: Numbers
    colour: int = 0
    legend: str = ""


@dataclass(frozen=True)
class Rule:
    """A straight line across the panel at one value of one axis ("x" or "y")."""

    axis: str
    value: float
    label: str


@dataclass(frozen=True, eq=False)
class Cells:
    """A heat map over two category axes.

    Attributes:
        values: shape [rows, columns]; NaN cells are hatched as not measured.
        texts: what each cell says, by (row, column).
        legend: what the colour means.
        diverging_at: value of the neutral colour; None for a scale from low to high.
    """

    values: Numbers
    texts: Mapping[tuple[int, int], str] = field(default_factory=dict)
    legend: str = ""
    diverging_at: float | None = None


Mark = Line | Points | Band | Rule | Cells


@dataclass(frozen=True)
class Panel:
    """One pair of axes with what is drawn in it."""

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure ready to be drawn.

    Attributes:
        name: as in ``nht plot NAME``.
        title: what it shows.
        caption: how to read it, and what it rests on.
        panels: drawn side by side, two to a row.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Undrawn:
    """A figure that these data do not allow, and what it would need."""

    name: str
    title: str
    reason: str


def style(category: int) -> tuple[int, str]:
    """Colour and dash of the n-th category: no two of the first 32 share both.

    Example:
        >>> style(0), style(9)
        ((0, 'solid'), (1, 'dashed'))
    """
    return category % COLOURS, DASHES[(category // COLOURS) % len(DASHES)]


def legend(figure: Figure) -> dict[str, Mark]:
    """A mark for each label: lines in the order of their categories, then points, then the rest.

    Empty where there is only one label, which the title says already.
    """

    def order(mark: Mark) -> tuple[int, int]:
        if isinstance(mark, Line):
            return 0, DASHES.index(mark.dash) * COLOURS + mark.colour
        return (1, 0) if isinstance(mark, Points) else (2, 0)

    found: dict[str, Mark] = {}
    for mark in sorted((m for panel in figure.panels for m in panel.marks), key=order):
        label = "" if isinstance(mark, Rule) else mark.legend
        if label:
            found.setdefault(label, mark)
    return found if len(found) > 1 else {}
