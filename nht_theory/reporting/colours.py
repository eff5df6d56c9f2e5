"""Colours that survive colour blindness, a grey printer, a light and a dark page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.reporting.marks import Cells

LIGHT = (
    "#0b5d9c",
    "#b3470b",
    "#00735a",
    "#9a4384",
    "#7a5c00",
    "#1f6f8b",
    "#6b4fa0",
    "#5a5a5a",
)
"""Eight hues after Okabe and Ito (2008), darkened to a contrast of at least 4.5 on white."""
DARK = (
    "#56b4e9",
    "#f0843c",
    "#2fc49b",
    "#e39ac8",
    "#e6c229",
    "#7fd1e0",
    "#b9a3ea",
    "#b5b5b5",
)
"""The same hues, lightened to a contrast of at least 4.5 on the dark page."""


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
