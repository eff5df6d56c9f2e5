"""Results in a notebook: tables as HTML, and ``study.plot.trajectories()`` for figures.

The results live in layers below this one and know nothing of it; importing the public names of
:mod:`nht_theory` attaches what is here to them, as pandas attaches its plotting.
"""

from __future__ import annotations

import sys
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nht_theory.claims.validate import Validation
    from nht_theory.claims.verdict import Verdict
    from nht_theory.estimators.results import Crossing, StudyEstimates
    from nht_theory.forecasting.forecast import Forecast
    from nht_theory.runs.run import Run
    from nht_theory.runs.study import Study


class StudyPlots:
    """Figures of a study, each by its name: ``study.plot.trajectories()``.

    Every one takes ``ax`` (drawn into, for figures with one panel) and returns the Axes, or an
    array of them for figures with several panels.

    Raises:
        InputError: the study lacks what the figure needs, which the message names.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def __dir__(self) -> list[str]:
        from nht_theory.reporting.figures.catalogue import FIGURES

        return list(FIGURES)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in dir(self):
            raise AttributeError(f"no figure named {name!r}; figures: {', '.join(dir(self))}")
        return lambda ax=None: plot(self._study, name, ax)


def plot(study: Study, name: str, ax: Axes | None = None) -> Any:
    """Draw one figure of a study.

    Args:
        study: what to draw.
        name: of the figure, as in ``nht plot``.
        ax: where to draw a figure of one panel; a new figure by default.

    Returns:
        the Axes, or the list of them when the figure has several panels.

    Raises:
        InputError: the figure cannot be drawn from this study, or ``ax`` is one of several.
    """
    from nht_theory.errors import InputError
    from nht_theory.estimators.summary import estimate_study
    from nht_theory.forecasting.backtest import backtest
    from nht_theory.reporting.content import ReportContent
    from nht_theory.reporting.figures.catalogue import build
    from nht_theory.reporting.marks import Undrawn
    from nht_theory.reporting.paper import draw, draw_panel, paper_style

    estimated = estimate_study(study)
    forecasts = backtest(estimated)[0] if name == "forecasts" else ()
    figure = build(name, ReportContent(estimated, (), forecasts=forecasts))
    if isinstance(figure, Undrawn):
        raise InputError(f"{figure.title} cannot be drawn: {figure.reason}", source=study.source)
    if ax is not None:
        if len(figure.panels) != 1:
            raise InputError(f"{name} has {len(figure.panels)} panels", remedy="leave ax out")
        return draw_panel(figure.panels[0], ax)
    with paper_style():
        drawn = draw(figure)
    axes = drawn.axes[: len(figure.panels)]
    return axes[0] if len(axes) == 1 else axes


def _table(title: str, headers: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headers)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _study(study: Study) -> str:
    rows: list[tuple[object, ...]] = [
        (run.name, len(run), ", ".join(run.values) or "events only") for run in study.runs
    ]
    title = (
        f"{study.source}: {len(study.records)} records, {len(study.runs)} distinct runs, "
        f"{len(study.left_out)} left out"
    )
    return _table(title, ("run", "evaluations", "columns"), rows)


def _run(run: Run) -> str:
    rows: list[tuple[object, ...]] = list(run.hyperparameters.configuration())
    return _table(f"{run.name}: {len(run)} evaluations", ("setting", "value"), rows)


def _verdicts(verdicts: tuple[Verdict, ...], title: str) -> str:
    from nht_theory.reporting.summary import effect

    rows: list[tuple[object, ...]] = [
        (
            own.claim,
            own.verdict.value,
            effect(own),
            own.n,
            own.n_censored,
            own.rests_on,
            own.rule,
        )
        for own in verdicts
    ]
    headers = ("claim", "verdict", "effect", "n", "censored", "rests on", "decided by")
    return _table(title, headers, rows)


def _validation(validation: Validation) -> str:
    return _verdicts(validation.verdicts, f"Verdicts on {validation.study.source}")


def _event(event: Crossing | None) -> int | str:
    """The step of an event, or why there is none: censored, or unknown."""
    from nht_theory.estimators.results import event_status

    status = event_status(event)
    return status.value if event is None or event.step is None else event.step


def _estimates(estimated: StudyEstimates) -> str:
    rows: list[tuple[object, ...]] = [
        (own.run, _event(own.memorization), _event(own.generalization), own.delay, own.regime.value)
        for own in estimated.estimates
    ]
    return _table("Estimates", ("run", "T_mem", "T_gen", "delay", "regime"), rows)


def _forecast(forecast: Forecast) -> str:
    interval = forecast.interval
    row = (
        forecast.made_at,
        "refused" if forecast.median is None else f"{forecast.median:,.0f}",
        "–" if interval is None else f"{interval.low:,.0f} to {interval.high:,.0f}",
        forecast.basis.value,
        forecast.reason,
    )
    headers = ("made at step", "generalises at", "90 % interval", "basis", "why")
    return _table(f"Forecast of {forecast.run}", headers, [row])


RENDERERS = (
    ("nht_theory.runs.study", "Study", _study),
    ("nht_theory.runs.run", "Run", _run),
    ("nht_theory.estimators.results", "StudyEstimates", _estimates),
    ("nht_theory.claims.verdict", "Verdict", lambda own: _verdicts((own,), own.claim)),
    ("nht_theory.claims.validate", "Validation", _validation),
    ("nht_theory.forecasting.forecast", "Forecast", _forecast),
)


def attach() -> None:
    """Give the results that are loaded so far their HTML form, and studies their ``plot``."""
    for module, name, as_html in RENDERERS:
        if module in sys.modules:
            kind = getattr(sys.modules[module], name)
            kind._repr_html_ = as_html
    if "nht_theory.runs.study" in sys.modules:
        sys.modules["nht_theory.runs.study"].Study.plot = property(StudyPlots)
