"""Nonlinear least squares on scipy, with named outcomes instead of silent numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nht_theory.estimators.results import Missing, Unavailable
from nht_theory.runs.run import Series

TOLERANCE = 1e-14
"""Relative change of the sum of squares and of the parameters at which the search stops."""
AT_BOUND_TOLERANCE = 1e-10
"""The same where an estimate may sit at a bound, which the search only creeps up to."""
BOUND_SHARE = 1e-6
"""A parameter closer to its bound than this share of its magnitude sits at it."""
LARGEST_CONDITION = 1e9
"""Condition number of the scaled Jacobian above which parameters cannot be told apart."""
LARGEST_SEARCH = 200
"""Evaluations of the model (differences not counted) after which the search has failed."""
DIFFERENCE = 6e-6
"""Relative step of central differences, the cube root of the rounding error."""

Model = Callable[..., Series]
"""Called as model(x, *parameters), shape [n] to shape [n]."""
Gradient = Callable[..., Series]
"""Called like the model; d model / d parameter, shape [n, k]."""


@dataclass(frozen=True)
class Start:
    """Where the search for a parameter starts, and the bounds it keeps to."""

    value: float
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """A least-squares fit that converged inside its bounds.

    Attributes:
        values: parameter -> estimate.
        standard_errors: parameter -> error under independent residuals.
        jacobian: d model / d parameter at the estimate, in the order of the parameters, [n, k].
        residuals: data minus model, shape [n].
        sum_of_squares: of the residuals.
        r_squared: 1 - sum_of_squares / total about the mean.
        n: observations.
    """

    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    jacobian: Series
    residuals: Series
    sum_of_squares: float
    r_squared: float
    n: int


def fit_nonlinear(
    model: Model,
    x: Series,
    y: Series,
    starts: Mapping[str, Start],
    gradient: Gradient | None = None,
    *,
    at_bounds: bool = False,
) -> NonlinearFit | Missing:
    """Least squares of ``y`` on ``model(x, *parameters)`` by a trust region.

    Args:
        model: vectorised over x.
        x, y: shape [n], finite.
        starts: for each parameter of the model, in its order.
        gradient: of the model in its parameters; differences where there is none.
        at_bounds: whether an estimate at a bound counts as one.

    Returns:
        The fit, or Missing: TOO_FEW_POINTS (n not above the number of parameters), FLAT,
        NOT_FINITE, NOT_CONVERGED, or AT_BOUND with the parameter's name.

    Example:
        >>> x = np.arange(6.0)
        >>> fit = fit_nonlinear(lambda x, a, b: a * np.exp(-b * x), x, 3 * np.exp(-0.5 * x),
        ...                     {"a": Start(1.0), "b": Start(0.1)})
        >>> round(fit.values["a"], 9), round(fit.values["b"], 9)
        (3.0, 0.5)
    """
    unfit = _unfit(x, y, len(starts))
    if unfit is not None:
        return unfit
    with np.errstate(all="ignore"):
        first = model(x, *[start.value for start in starts.values()])
    if not np.isfinite(first).all():
        return Missing(Unavailable.NOT_CONVERGED, "the model is not finite where the search starts")
    tolerance = AT_BOUND_TOLERANCE if at_bounds else TOLERANCE
    try:
        result = _search(model, x, y, starts, gradient, tolerance)
    except (ValueError, np.linalg.LinAlgError) as error:  # a gradient that is not finite
        return Missing(Unavailable.NOT_CONVERGED, str(error))
    values = dict(zip(starts, result.x.tolist(), strict=True))
    failed = _failed(result, values, {} if at_bounds else starts)
    if failed is not None:
        return failed
    residuals = -np.asarray(result.fun)
    with np.errstate(all="ignore"):
        jacobian = _jacobian(model, x, values) if gradient is None else gradient(x, *result.x)
        scale = np.linalg.norm(jacobian, axis=0)
    if (
        not ((scale > 0) & np.isfinite(scale)).all()
        or np.linalg.cond(jacobian / scale) > LARGEST_CONDITION
    ):
        return Missing(Unavailable.NOT_CONVERGED, "the parameters cannot be told apart")
    squares = float(residuals @ residuals)
    scaled = jacobian / scale
    inverse = np.linalg.pinv(scaled)
    independent = inverse @ inverse.T * squares / (x.size - len(starts))
    errors = (np.sqrt(np.maximum(np.diag(independent), 0.0)) / scale).tolist()
    return NonlinearFit(
        values=values,
        standard_errors=dict(zip(starts, errors, strict=True)),
        jacobian=jacobian,
        residuals=residuals,
        sum_of_squares=squares,
        r_squared=1 - squares / float(((y - y.mean()) ** 2).sum()),
        n=int(x.size),
    )


def _unfit(x: Series, y: Series, parameters: int) -> Missing | None:
    """Why these points cannot be fitted, or None."""
    if x.size <= parameters:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{x.size} points for {parameters} parameters")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return Missing(Unavailable.NOT_FINITE, "a point to be fitted is NaN or infinite")
    if float(np.ptp(y)) == 0:
        return Missing(Unavailable.FLAT, "every value is the same")
    return None


def _failed(
    result: Any, values: Mapping[str, float], starts: Mapping[str, Start]
) -> Missing | None:
    """Why the search's end is no estimate, or None."""
    if not result.success or not np.isfinite(result.fun).all():
        return Missing(Unavailable.NOT_CONVERGED, str(result.message))
    for name, start in starts.items():
        for bound in (start.low, start.high):
            if math.isfinite(bound) and abs(values[name] - bound) <= BOUND_SHARE * max(
                abs(bound), abs(start.value)
            ):
                return Missing(Unavailable.AT_BOUND, f"{name} = {values[name]:.6g}")
    return None


def _search(
    model: Model,
    x: Series,
    y: Series,
    starts: Mapping[str, Start],
    gradient: Gradient | None,
    tolerance: float,
) -> Any:
    """Trust-region least squares; without a gradient central differences, which keep twice the
    digits of one-sided ones."""
    from scipy import optimize

    def residual(values: Series) -> Series:
        return model(x, *values) - y

    def derivative(values: Series) -> Series:
        assert gradient is not None
        return gradient(x, *values)

    with np.errstate(all="ignore"):
        return optimize.least_squares(
            residual,
            [start.value for start in starts.values()],
            jac="3-point" if gradient is None else derivative,
            bounds=([s.low for s in starts.values()], [s.high for s in starts.values()]),
            x_scale="jac",
            ftol=tolerance,
            xtol=tolerance,
            gtol=tolerance,
            max_nfev=LARGEST_SEARCH,
        )


def _jacobian(model: Model, x: Series, values: Mapping[str, float]) -> Series:
    """d model / d parameter by central differences, shape [n, k]."""
    columns = []
    for name, value in values.items():
        step = DIFFERENCE * max(abs(value), 1e-12)
        up = model(x, *{**values, name: value + step}.values())
        down = model(x, *{**values, name: value - step}.values())
        columns.append((up - down) / (2 * step))
    return np.column_stack(columns)
