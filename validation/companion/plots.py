"""The two figures of the page, as small SVG files with the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from claims import eta_fit, eta_rows
from published_figures import eta_line, lambda_line

from nht_theory.claims.validate import Validation
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.transitions import delay_bounds

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "nht", "svg.fonttype": "none", "font.size": 9})


def draw(validation: Validation, directory: Path) -> None:
    """Write lambda_sweep.svg and eta_sweep.svg."""
    estimates = StudyEstimates(validation.study, validation.estimates, validation.thresholds)
    line, slope = lambda_line(validation.study), eta_line(validation.study)
    _scatter(
        estimates,
        directory / "lambda_sweep.svg",
        axis="weight_decay",
        fixed={"learning_rate": 1e-3},
        published=lambda x: line.slope * x + line.intercept,
        title="1/lambda",
    )
    fit = eta_fit(*eta_rows(estimates))
    _scatter(
        estimates,
        directory / "eta_sweep.svg",
        axis="learning_rate",
        fixed={"weight_decay": 1.0},
        published=lambda x: slope.slope * x + slope.intercept,
        title="1/eta",
        ours=lambda x: fit.quantile(np.column_stack([np.ones(x.size), np.log(x)])),
    )


def _scatter(estimates, path, *, axis, fixed, published, title, ours=None) -> None:
    from matplotlib import pyplot as plt

    seen, censored = [], []
    for run, own in estimates.pairs():
        chosen = run.hyperparameters
        if chosen.optimizer != "adamw" or chosen.extra.get("p") != 97:
            continue
        if any(getattr(chosen, name) != value for name, value in fixed.items()):
            continue
        if own.memorization is None or own.generalization is None:
            continue
        bounds = delay_bounds(own.memorization, own.generalization)
        if bounds is None:
            continue
        x = 1 / getattr(chosen, axis)
        if own.generalization_step is None:
            censored.append((x, bounds[0]))
        else:
            seen.append((x, own.generalization_step - own.memorization_step))
    figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    axes.loglog(*np.array(seen).T, "o", ms=3, alpha=0.5, label="delay, distinct runs")
    if censored:
        axes.loglog(*np.array(censored).T, "^", ms=4, mfc="none", label="not yet switched")
    grid = np.geomspace(min(x for x, _ in seen), max(x for x, _ in seen), 60)
    line = published(grid)
    axes.loglog(grid[line > 0], line[line > 0], "--", lw=1, label="published line (T_grok)")
    if ours is not None:
        axes.loglog(grid, ours(grid), "-", lw=1, label="censored regression (delay)")
    axes.set(xlabel=title, ylabel="steps")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
