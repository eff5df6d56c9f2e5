"""The companion paper's own estimators (arXiv 2603.13331), kept as they were.

They are here so that its published figures can be recomputed from its published logs and set
beside ours. Nothing else in the project uses them: they drop runs that never generalised, take
V at the end of the log for V after the transition, and treat a fit's points as independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nht_theory.errors import ConvergenceError, DomainError
from nht_theory.estimators.results import Interval, Missing, Unavailable
from nht_theory.inference.samples import Vector, check_same_length, finite_vector
from nht_theory.runs.run import Run


@dataclass(frozen=True)
class PublishedLine:
    """A least-squares line y = slope x + intercept with its correlation.

    Attributes:
        slope, intercept: in the units of y per x, and of y.
        pearson_r: correlation of x and y.
        n: points used.
        dropped: runs without a transition, which the paper leaves out.
    """

    slope: float
    intercept: float
    pearson_r: float
    n: int
    dropped: int = 0

    @property
    def r_squared(self) -> float:
        """R^2 of the line."""
        return self.pearson_r**2


@dataclass(frozen=True)
class PublishedDecay:
    """V_t = amplitude rate^t + floor, t in steps since memorisation.

    Attributes:
        rate: r, the ratio of V above its floor from one step to the next.
        amplitude, floor: A and C.
        r_squared: of V, not of ln V.
        n: evaluations fitted.
    """

    rate: float
    amplitude: float
    floor: float
    r_squared: float
    n: int

    @property
    def contraction_rate(self) -> float:
        """1 - r, the gamma that the paper prints, per step."""
        return 1 - self.rate


def published_line(x: ArrayLike, time: ArrayLike) -> PublishedLine:
    """Least squares of transition times on a covariate, runs without a transition dropped.

    Args:
        x: 1/lambda or 1/eta, shape [n].
        time: transition step of each run, NaN where there was none, shape [n].

    Raises:
        DomainError: fewer than three runs with a transition.

    Source: arXiv 2603.13331, lambda sweep (T_grok against 1/lambda over the runs of regime II)
    and eta sweep (against 1/eta).

    Example:
        >>> line = published_line([1, 2, 4, 8], [10, 20, 40, float("nan")])
        >>> round(line.slope, 9), line.n, line.dropped
        (10.0, 3, 1)
    """
    covariate = finite_vector(x, "x")
    steps = np.asarray(time, dtype=np.float64)
    check_same_length(x=covariate, time=steps)
    seen = np.isfinite(steps)
    if np.count_nonzero(seen) < 3:
        raise DomainError(
            f"{np.count_nonzero(seen)} runs have a transition", source="time", remedy="give three"
        )
    slope, intercept = np.polyfit(covariate[seen], steps[seen], 1)
    return PublishedLine(
        slope=float(slope),
        intercept=float(intercept),
        pearson_r=float(np.corrcoef(covariate[seen], steps[seen])[0, 1]),
        n=int(seen.sum()),
        dropped=int((~seen).sum()),
    )


def published_slope_interval(
    x: ArrayLike, time: ArrayLike, *, resamples: int = 10_000, seed: int = 42
) -> Interval:
    """Percentile interval of the slope from resampling single runs (shapes [n], no NaN).

    The paper gives neither seed nor number of resamples, so its limits are met to about four
    steps, the Monte-Carlo error.

    Source: arXiv 2603.13331, the bracket behind the lambda sweep's slope.
    """
    covariate, steps = finite_vector(x, "x"), finite_vector(time, "time")
    check_same_length(x=covariate, time=steps)
    rows = np.random.default_rng(seed).integers(covariate.size, size=(resamples, covariate.size))
    a, b = covariate[rows], steps[rows]
    a = a - a.mean(axis=1, keepdims=True)
    slopes = (a * b).sum(axis=1) / (a**2).sum(axis=1)
    low, high = np.quantile(slopes, [0.025, 0.975])
    return Interval(float(low), float(high), 0.95, f"bootstrap of runs, {resamples} resamples")


def published_decay(
    steps: ArrayLike, squared_norm: ArrayLike, memorization_step: int
) -> PublishedDecay | Missing:
    """Three-parameter fit A r^t + C of V from memorisation to the end of the log.

    Args:
        steps, squared_norm: the trajectory, shape [n].
        memorization_step: first evaluation with training accuracy of 99 %.

    Returns:
        The fit, or why there is none (fewer than four evaluations after memorisation).

    Raises:
        ConvergenceError: least squares did not converge.

    Source: arXiv 2603.13331, ``rate_fit``, ``A``, ``C`` and ``R2`` of its result files.

    Example:
        >>> t = np.arange(0, 3001, 200)
        >>> fit = published_decay(t, 3600 * 0.9986 ** t + 230, 0)
        >>> round(fit.rate, 6), round(fit.floor, 3), round(fit.r_squared, 6)
        (0.9986, 230.0, 1.0)
    """
    from scipy.optimize import curve_fit

    step, norm = finite_vector(steps, "steps"), finite_vector(squared_norm, "squared_norm")
    check_same_length(steps=step, squared_norm=norm)
    after = step >= memorization_step
    t, v = step[after] - memorization_step, norm[after]
    if t.size < 4:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{t.size} evaluations after memorisation")

    def model(t: Vector, amplitude: float, rate: float, floor: float) -> Vector:
        return np.asarray(amplitude * rate**t + floor)

    try:
        start = [v[0] - v[-1], 0.998, v[-1]]
        (amplitude, rate, floor), _ = curve_fit(model, t, v, p0=start, maxfev=20_000)
    except RuntimeError as error:
        raise ConvergenceError(
            str(error),
            source="A r^t + C",
            remedies=("use the estimators of nht_theory.estimators.contraction",),
        ) from None
    residual = v - model(t, amplitude, rate, floor)
    total = float(((v - v.mean()) ** 2).sum())
    return PublishedDecay(
        rate=float(rate),
        amplitude=float(amplitude),
        floor=float(floor),
        r_squared=1 - float(residual @ residual) / total,
        n=int(t.size),
    )


def published_escape_time(
    squared_norm_memorization: float,
    squared_norm_final: float,
    *,
    learning_rate: float,
    weight_decay: float,
) -> float:
    """ln(V_mem / V_final) / (2 eta lambda), in steps: the paper's ``T_escape_theory``.

    V_final is the last V of the log, about 2,000 steps after the transition.

    Raises:
        DomainError: an argument is not positive.

    Source: arXiv 2603.13331, ``T_escape_theory`` of its result files.

    Example:
        >>> round(published_escape_time(3891.2267, 271.0148, learning_rate=1e-3, weight_decay=1.0))
        1332
    """
    given = (squared_norm_memorization, squared_norm_final, learning_rate, weight_decay)
    if min(given) <= 0:
        raise DomainError(f"arguments {given} are not all positive", source="escape time")
    ratio = squared_norm_memorization / squared_norm_final
    return math.log(ratio) / (2 * learning_rate * weight_decay)


def recorded_or_nan(run: Run) -> float:
    """The transition step that the source recorded, NaN where it recorded none."""
    step = None if run.recorded is None else run.recorded.generalization_step
    return math.nan if step is None else float(step)
