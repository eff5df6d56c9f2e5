"""Every figure by name, in the order a report shows them."""

from __future__ import annotations

from collections.abc import Callable

from nht_theory.errors import InputError
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.figures import trajectories
from nht_theory.reporting.figures.forecasts import forecast_against_actual
from nht_theory.reporting.marks import Figure, Undrawn

Builder = Callable[[ReportContent], Figure | Undrawn]

FIGURES: dict[str, Builder] = {
    "trajectories": lambda content: trajectories.norm_trajectories(content.estimated),
    "forecasts": lambda content: forecast_against_actual(content.forecasts),
    "accuracy": lambda content: trajectories.accuracies(content.estimated),
    "groups": lambda content: trajectories.group_trajectories(content.estimated),
}


def build(name: str, content: ReportContent) -> Figure | Undrawn:
    """One figure by its name.

    Raises:
        InputError: there is no figure of that name.
    """
    if name not in FIGURES:
        raise InputError(f"no figure named {name!r}", remedy=f"figures: {', '.join(FIGURES)}")
    return FIGURES[name](content)


def draw_all(content: ReportContent) -> list[Figure | Undrawn]:
    """Every figure, drawn or with the reason why not."""
    return [builder(content) for builder in FIGURES.values()]
