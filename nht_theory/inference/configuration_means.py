"""Regression of censored times with the configuration, not the run, as the unit.

Runs that differ in nothing but the seed share whatever their settings did to them, and a slope on
a setting varies only between configurations. So the mean of ln T of each configuration is one
observation, and the slope has Student's t with (configurations that switched - coefficients)
degrees of freedom, whatever the seeds. Without censoring and with as many seeds everywhere this is
least squares on the means, whose intervals are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.errors import ConvergenceError, DomainError
from nht_theory.inference.censored_regression import CensoredRegression, fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector, check_same_length, group_codes

WIDE = 2.0
"""Ratio of the ends of an evaluation interval from which its middle no longer stands for it."""


def fit_configuration_means(
    times: CensoredTimes,
    design: ArrayLike,
    names: Sequence[str],
    configurations: Sequence[object],
) -> CensoredRegression:
    """Log-normal regression of the configurations' times on the means of their predictors.

    Args:
        times: of the runs, shape [n].
        design: of the runs, shape [n, k], the constant column included.
        names: of the k columns.
        configurations: label of each run, shape [n].

    Returns:
        The fit, whose ``n`` counts configurations and whose degrees of freedom are the
        configurations that switched, at a time known to within a factor of two, less k.

    Raises:
        DomainError: not more than k + 1 configurations, not more than k that switched at a known
            time, or columns that depend on each other.
        ConvergenceError: no interior maximum.

    Source: derived here; coverage in validation/statistics (slope_coverage).

    Example:
        >>> x = np.repeat(np.log([1.0, 2, 4, 8, 16]), 2)
        >>> t = 100 * np.exp(x) * np.tile([0.9, 1.1], 5) * np.repeat([1, 1.1, 0.9, 1, 1], 2)
        >>> fit = fit_configuration_means(CensoredTimes.of(t, t),
        ...     np.column_stack([np.ones(10), x]), ("constant", "slope"), np.repeat(range(5), 2))
        >>> fit.n, fit.degrees_of_freedom, round(fit.coefficient("slope").value, 3)
        (5, 3, 0.986)
    """
    x = np.asarray(design, dtype=np.float64)
    codes, labels = group_codes(np.asarray(configurations, dtype=object), "configurations")
    check_same_length(times=times.lower, design=x, configurations=codes)
    if len(labels) <= len(names) + 1:
        raise DomainError(
            f"{len(labels)} configurations for {len(names)} coefficients",
            source="configurations",
            remedy=f"run {len(names) + 2} or more configurations: seeds of one are no substitute",
        )
    means = np.array([x[codes == code].mean(axis=0) for code in range(len(labels))])
    bounds = configuration_times(times, codes)
    wide = np.isfinite(bounds.upper) & (bounds.upper > WIDE * bounds.lower)
    located = int((~wide & ~bounds.is_right_censored).sum())
    if located <= len(names):
        raise DomainError(
            f"{located} of {len(labels)} configurations tell their time for {len(names)} "
            "coefficients",
            source="configurations",
            remedy=f"train until {len(names) + 1} or more of them switch, and evaluate more often",
        )
    fit = fit_censored_regression(bounds, means, names, unit="configurations")
    return replace(fit, n_wide=int(wide.sum()))


def configuration_times(times: CensoredTimes, codes: NDArray[np.int64]) -> CensoredTimes:
    """exp of the mean of ln T of each configuration, or bounds on it.

    - every run switched inside a narrow evaluation interval: the middles' geometric mean;
    - a wide interval among them: the geometric means of the lower and of the upper ends, between
      which the configuration's mean lies for certain;
    - no run switched: the geometric mean of the last steps seen, which it exceeds;
    - some did: the maximum of the likelihood with one scatter for all configurations, and where
      it has none the bound from below.

    Args:
        times: of the runs, shape [n].
        codes: configuration of each run, 0 to G - 1, shape [n].

    Example:
        >>> times = CensoredTimes.of([90, 110, 500, 500], [90, 110, np.inf, np.inf])
        >>> found = configuration_times(times, np.array([0, 0, 1, 1]))
        >>> found.lower.round(1).tolist(), found.upper.round(1).tolist()
        ([99.5, 500.0], [99.5, inf])
    """
    count = int(codes.max()) + 1
    partly = _partly_censored_means(times, codes)
    bounds = []
    for code in range(count):
        own = times.take(codes == code)
        wide = own.upper > WIDE * own.lower
        if code in partly:
            bounds.append((partly[code], partly[code]))
        elif own.is_right_censored.any():
            bounds.append((_geometric_mean(own.lower), np.inf))
        elif wide.any():
            bounds.append((_geometric_mean(own.lower), _geometric_mean(own.upper)))
        else:
            middle = _geometric_mean(own.representative())
            bounds.append((middle, middle))
    low, high = zip(*bounds, strict=True)
    return CensoredTimes.of(low, high)


def _partly_censored_means(times: CensoredTimes, codes: NDArray[np.int64]) -> dict[int, float]:
    """exp of the fitted mean of ln T of each configuration in which only some runs switched.

    One scatter is fitted to all configurations with a switch, since a few seeds tell little of
    their own. Empty where there is no such configuration or the likelihood has no maximum.
    """
    seen = ~times.is_right_censored
    with_switch = [code for code in np.unique(codes) if seen[codes == code].any()]
    partly = [code for code in with_switch if not seen[codes == code].all()]
    if not partly:
        return {}
    rows = np.isin(codes, with_switch)
    members = (codes[rows][:, None] == np.array(with_switch)).astype(np.float64)
    try:
        fit = fit_censored_regression(times.take(rows), members, [str(c) for c in with_switch])
    except (ConvergenceError, DomainError):
        return {}
    means = dict(zip(with_switch, np.exp(fit.coefficients), strict=True))
    return {int(code): float(means[code]) for code in partly}


def _geometric_mean(values: Vector) -> float:
    """Zero where one of them is."""
    return 0.0 if (values == 0).any() else float(np.exp(np.log(values).mean()))
