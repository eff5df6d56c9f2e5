"""By what the runs of a study differ, so that every figure tells them apart in the same way."""

from __future__ import annotations

from dataclasses import dataclass

from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

PREFERRED = ("weight_decay", "learning_rate", "optimizer", "task")
"""Settings by which runs are told apart, the first that varies; then any other."""
MOST_CATEGORIES = 16
IGNORED = ("parameter_count", "total_steps", "seed")


@dataclass(frozen=True)
class Categories:
    """A partition of runs by one setting.

    Attributes:
        setting: its name, or "" when all runs share everything.
        names: the values in order, as printed ("weight decay 0.1").
        of_run: run name -> index into ``names``.
    """

    setting: str
    names: tuple[str, ...]
    of_run: dict[str, int]


def settings_of(chosen: Hyperparameters) -> dict[str, object]:
    """Every setting that is known, by name, extras included."""
    own = {name: getattr(chosen, name) for name in Hyperparameters.__dataclass_fields__}
    extra = dict(own.pop("extra"))
    return {name: value for name, value in {**own, **extra}.items() if value is not None}


def _printed(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _order(value: object) -> tuple[int, float, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return 0, float(value), ""
    return 1, 0.0, str(value)


def categorize(study: Study) -> Categories:
    """Split the distinct runs by the first setting that varies and has few values.

    Example:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> runs = tuple(
        ...     Run(name, Path("."), np.array([0]), hyperparameters=Hyperparameters(weight_decay=w))
        ...     for name, w in (("a", 1.0), ("b", 0.1)))
        >>> categorize(Study(Path("."), runs, runs)).names
        ('weight decay 0.1', 'weight decay 1')
    """
    by_run = {run.name: settings_of(run.hyperparameters) for run in study.runs}
    seen = dict.fromkeys(name for settings in by_run.values() for name in settings)
    for setting in dict.fromkeys([*PREFERRED, *seen]):
        values = {settings.get(setting) for settings in map(_hashable, by_run.values())}
        if setting in IGNORED or not 1 < len(values) <= MOST_CATEGORIES:
            continue
        ordered = sorted(values, key=_order)
        label = setting.replace("_", " ")
        names = tuple(
            f"{label} {'not known' if value is None else _printed(value)}" for value in ordered
        )
        of_run = {
            name: ordered.index(_hashable(settings).get(setting))
            for name, settings in by_run.items()
        }
        return Categories(setting, names, of_run)
    return Categories("", ("all runs",), dict.fromkeys(by_run, 0))


def _hashable(settings: dict[str, object]) -> dict[str, object]:
    """Lists and tables among the extras, as text, so that they can be compared."""
    return {
        name: value if isinstance(value, (str, int, float)) else str(value)
        for name, value in settings.items()
    }


def name_of_run(run: Run) -> str:
    """A run with its main settings, as a hover shows it."""
    known = settings_of(run.hyperparameters)
    chosen = (*PREFERRED, "seed")
    parts = [
        f"{name.replace('_', ' ')} {_printed(known[name])}" for name in chosen if name in known
    ]
    return f"{run.name} ({', '.join(parts)})" if parts else run.name
