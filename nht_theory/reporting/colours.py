"""Colours that survive colour blindness, a grey printer, a light and a dark page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.reporting.marks import Cells

LIGHT = (
    "#0d59a5",
    "#ff5500",
    "#6f2a2a",
    "#8c1aff",
    "#ce7e8b",
    "#9580ff",
    "#b30000",
    "#53235c",
)
"""Found by search: every two at least 20 apart in CIELAB to normal, protan, deutan and tritan
eyes, each with a contrast of at least 3 on white."""
DARK = (
    "#5abff2",
    "#ff8c1a",
    "#e3dbb5",
    "#9966ff",
    "#ff0055",
    "#ff00aa",
    "#bfff80",
    "#009966",
)
"""The same on the dark page."""
DARK_PAGE = "#14171c"


@dataclass(frozen=True)
class CellColour:
    """Fill of a heat-map cell and the ink that is readable on it, as #rrggbb."""

    fill: str
    ink: str


def relative_luminance(colour: str) -> float:
    """Relative luminance of #rrggbb in [0, 1] (WCAG 2.2, "relative luminance").

    Example:
        >>> relative_luminance("#ffffff"), relative_luminance("#000000")
        (1.0, 0.0)
    """
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, from 1 to 21 (WCAG 2.2).

    Example:
        >>> contrast("#000000", "#ffffff")
        21.0
    """
    light, dark = sorted((relative_luminance(first), relative_luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def cell_colours(cells: Cells) -> dict[tuple[int, int], CellColour]:
    """Colours of the measured cells: cividis from low to high, or purple-orange around the
    neutral value."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    measured = np.isfinite(cells.values)
    if not measured.any():
        return {}
    low, high = float(cells.values[measured].min()), float(cells.values[measured].max())
    if cells.diverging_at is not None:
        reach = max(high - cells.diverging_at, cells.diverging_at - low) or 1.0
        low, high = cells.diverging_at - reach, cells.diverging_at + reach
    scale = colormaps["PuOr" if cells.diverging_at is not None else "cividis"]
    found = {}
    for row, column in np.argwhere(measured):
        share = (cells.values[row, column] - low) / (high - low) if high > low else 0.5
        fill = to_hex(scale(float(share)))
        ink = max("#000000", "#ffffff", key=lambda candidate: contrast(candidate, fill))
        found[int(row), int(column)] = CellColour(fill, ink)
    return found
