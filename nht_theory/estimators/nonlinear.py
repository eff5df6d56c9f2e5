"""Nonlinear least squares on lmfit, with named outcomes instead of silent numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.estimators.results import Interval, Missing, Unavailable
from nht_theory.inference.information import aicc_least_squares
from nht_theory.runs.run import Series

TOLERANCE = 1e-14
"""Relative change of the sum of squares and of the parameters at which the search stops."""
BOUND_SHARE = 1e-6
"""A parameter closer to its bound than this share of its magnitude sits at it."""
LARGEST_CONDITION = 1e9
"""Condition number of the scaled Jacobian above which parameters cannot be told apart."""
DIFFERENCE = 6e-6
"""Relative step of central differences, the cube root of the rounding error."""

Model = Callable[..., Series]
"""Called as model(x, **parameters), shape [n] to shape [n]."""


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
        robust_errors: parameter -> error under autocorrelated residuals (Newey-West).
        residuals: data minus model, shape [n].
        sum_of_squares: of the residuals.
        r_squared: 1 - sum_of_squares / total about the mean.
        aicc: Akaike's criterion for small samples, the error variance counted as a parameter;
            infinite where n is too small for it.
        n: observations.
    """

    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    robust_errors: Mapping[str, float]
    residuals: Series
    sum_of_squares: float
    r_squared: float
    aicc: float
    n: int
    _minimizer: Any
    _result: Any

    def profile_interval(self, name: str, coverage: float = CONFIDENCE) -> Interval | None:
        """Interval of a parameter from the profile of the sum of squares (lmfit conf_interval).

        It is stretched about the estimate by the ratio of the robust to the ordinary error
        where that exceeds one, because the profile itself assumes independent residuals.

        Returns:
            None where the profile does not cross the level on both sides, or the fit is exact.
        """
        import lmfit

        if self.standard_errors[name] == 0:
            return None

        try:
            with warnings.catch_warnings():  # a profile that stays flat is the None returned here
                warnings.simplefilter("ignore", UserWarning)
                ends = lmfit.conf_interval(
                    self._minimizer, self._result, p_names=[name], sigmas=[coverage], maxiter=200
                )[name]
        except (lmfit.MinimizerException, ValueError, KeyError):
            return None
        low, high = float(ends[0][1]), float(ends[-1][1])
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            return None
        ratio = max(1.0, self.robust_errors[name] / self.standard_errors[name])
        value = self.values[name]
        return Interval(
            value - ratio * (value - low),
            value + ratio * (high - value),
            coverage,
            "profile of the sum of squares"
            + (f", stretched by {ratio:.2f} for autocorrelation" if ratio > 1 else ""),
        )


def fit_nonlinear(
    model: Model, x: Series, y: Series, starts: Mapping[str, Start]
) -> NonlinearFit | Missing:
    """Least squares of ``y`` on ``model(x, **parameters)`` by Levenberg-Marquardt.

    Args:
        model: vectorised over x.
        x, y: shape [n], finite.
        starts: for each parameter of the model, in its order.

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
    minimizer, result = _search(model, x, y, starts)
    values = {name: float(result.params[name].value) for name in starts}
    failed = _failed(result, values, starts)
    if failed is not None:
        return failed
    residuals = -np.asarray(result.residual)
    jacobian = _jacobian(model, x, values)
    scale = np.linalg.norm(jacobian, axis=0)
    if not (scale > 0).all() or np.linalg.cond(jacobian / scale) > LARGEST_CONDITION:
        return Missing(Unavailable.NOT_CONVERGED, "the parameters cannot be told apart")
    squares = float(residuals @ residuals)
    scaled = jacobian / scale
    independent = np.linalg.inv(scaled.T @ scaled) * squares / (x.size - len(starts))
    errors, robust = (
        (np.sqrt(np.maximum(np.diag(covariance), 0.0)) / scale).tolist()
        for covariance in (independent, newey_west_covariance(scaled, residuals))
    )
    return NonlinearFit(
        values=values,
        standard_errors=dict(zip(starts, errors, strict=True)),
        robust_errors=dict(zip(starts, robust, strict=True)),
        residuals=residuals,
        sum_of_squares=squares,
        r_squared=1 - squares / float(((y - y.mean()) ** 2).sum()),
        aicc=aicc_least_squares(residuals, len(starts)),
        n=int(x.size),
        _minimizer=minimizer,
        _result=result,
    )


def newey_west_lags(n: int) -> int:
    """Lags of the Newey-West estimator: floor(4 (n/100)^(2/9)), at least one, below n.

    Source: Newey and West 1994.

    Example:
        >>> newey_west_lags(10), newey_west_lags(100)
        (2, 4)
    """
    return min(max(1, int(4 * (n / 100) ** (2 / 9))), n - 1)


def newey_west_covariance(jacobian: Series, residuals: Series) -> Series:
    """Covariance of least-squares coefficients under autocorrelated residuals.

    Args:
        jacobian: d model / d parameter, shape [n, k], n > k.
        residuals: shape [n].

    Returns:
        shape [k, k], with the n/(n - k) correction for few points.

    Source: Newey and West 1987.
    """
    n, k = jacobian.shape
    scores = jacobian * residuals[:, None]
    meat = scores.T @ scores
    lags = newey_west_lags(n)
    for lag in range(1, lags + 1):
        cross = scores[lag:].T @ scores[:-lag]
        meat = meat + (1 - lag / (lags + 1)) * (cross + cross.T)
    bread = np.linalg.pinv(jacobian.T @ jacobian)
    return np.asarray(bread @ meat @ bread * n / (n - k))


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
    if not result.success or not np.isfinite(result.residual).all():
        return Missing(Unavailable.NOT_CONVERGED, str(result.message))
    for name, start in starts.items():
        for bound in (start.low, start.high):
            if math.isfinite(bound) and abs(values[name] - bound) <= BOUND_SHARE * max(
                abs(bound), abs(start.value)
            ):
                return Missing(Unavailable.AT_BOUND, f"{name} = {values[name]:.6g}")
    return None


def _search(model: Model, x: Series, y: Series, starts: Mapping[str, Start]) -> tuple[Any, Any]:
    """lmfit's least squares with central differences, which keep twice the digits."""
    import lmfit

    parameters = lmfit.Parameters()
    for name, start in starts.items():
        parameters.add(name, value=start.value, min=start.low, max=start.high)

    def residual(current: Any) -> Series:
        return model(x, **current.valuesdict()) - y

    minimizer = lmfit.Minimizer(residual, parameters, nan_policy="propagate")
    with np.errstate(all="ignore"):
        result = minimizer.least_squares(
            jac="3-point",
            x_scale="jac",
            ftol=TOLERANCE,
            xtol=TOLERANCE,
            gtol=TOLERANCE,
            max_nfev=2000 * (len(starts) + 1),
        )
    return minimizer, result


def _jacobian(model: Model, x: Series, values: Mapping[str, float]) -> Series:
    """d model / d parameter by central differences, shape [n, k]."""
    columns = []
    for name, value in values.items():
        step = DIFFERENCE * max(abs(value), 1e-12)
        up = model(x, **{**values, name: value + step})
        down = model(x, **{**values, name: value - step})
        columns.append((up - down) / (2 * step))
    return np.column_stack(columns)
