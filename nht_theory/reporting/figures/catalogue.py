"""Every figure by name, in the order a report shows them."""

from __future__ import annotations

from collections.abc import Callable

from nht_theory.errors import InputError
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.figures import regimes, trajectories
from nht_theory.reporting.figures.decomposition import rate_decomposition
from nht_theory.reporting.figures.forecasts import forecast_against_actual
from nht_theory.reporting.figures.layers import layer_heat_map
from nht_theory.reporting.figures.separation import separation_plot
from nht_theory.reporting.figures.stability import threshold_stability
from nht_theory.reporting.figures.survival import survival
from nht_theory.reporting.marks import Figure, Undrawn

Builder = Callable[[ReportContent], Figure | Undrawn]

FIGURES: dict[str, Builder] = {
    "trajectories": lambda content: trajectories.norm_trajectories(content.estimated),
    "forecasts": lambda content: forecast_against_actual(content.forecasts),
    "accuracy": lambda content: trajectories.accuracies(content.estimated),
    "survival": lambda content: survival(content.estimated),
    "regimes": lambda content: regimes.regime_map(content.estimated),
    "phases": lambda content: regimes.phase_diagram(content.estimated),
    "groups": lambda content: trajectories.group_trajectories(content.estimated),
    "layers": lambda content: layer_heat_map(content.estimated),
    "separation": lambda content: separation_plot(content.estimated),
    "terms": lambda content: rate_decomposition(content.estimated),
    "thresholds": lambda content: threshold_stability(content.estimated, content.verdicts),
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
