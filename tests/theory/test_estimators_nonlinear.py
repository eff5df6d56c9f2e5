"""Our nonlinear least squares against the certified digits of NIST's reference data sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nht_theory.estimators.nonlinear import NonlinearFit, Start, fit_nonlinear
from nht_theory.estimators.results import Missing, Unavailable

Pair = tuple[float, float]


def saturating(x: np.ndarray, b1: float, b2: float) -> np.ndarray:
    return b1 * (1 - np.exp(-b2 * x))


def three_exponentials(  # NIST names the parameters so
    x: np.ndarray, b1: float, b2: float, b3: float, b4: float, b5: float, b6: float
) -> np.ndarray:
    return b1 * np.exp(-b2 * x) + b3 * np.exp(-b4 * x) + b5 * np.exp(-b6 * x)


# fmt: off
MISRA1A = (
    [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1,
     760.0],
    [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47,
     81.78],
)
BOXBOD = ([1.0, 2, 3, 5, 7, 10], [109.0, 149, 149, 191, 213, 224])
LANCZOS3 = (
    [0.05 * i for i in range(24)],
    [2.5134, 2.0443, 1.6684, 1.3664, 1.1232, 0.9269, 0.7679, 0.6389, 0.5338, 0.4479, 0.3776,
     0.3197, 0.2720, 0.2325, 0.1997, 0.1723, 0.1493, 0.1301, 0.1138, 0.1000, 0.0883, 0.0783,
     0.0698, 0.0624],
)
CERTIFIED = [
    ("Misra1a", saturating, MISRA1A, ([500, 0.0001], [250, 0.0005]),
     ([2.3894212918e2, 5.5015643181e-4], [2.7070075241, 7.2668688436e-6], 1.2455138894e-1)),
    ("BoxBOD", saturating, BOXBOD, ([100, 0.75],),
     ([2.1380940889e2, 5.4723748542e-1], [1.2354515176e1, 1.0455993237e-1], 1.1680088766e3)),
    ("Lanczos3", three_exponentials, LANCZOS3,
     ([1.2, 0.3, 5.6, 5.5, 6.5, 7.6], [0.5, 0.7, 3.6, 4.2, 4, 6.3]),
     ([8.6816414977e-2, 9.5498101505e-1, 8.4400777463e-1, 2.9515951832, 1.5825685901,
       4.9863565084],
      [1.7197908859e-2, 9.7041624475e-2, 4.1488663282e-2, 1.0766312506e-1, 5.8371576281e-2,
       3.4436403035e-2],
      1.6117193594e-8)),
]
# fmt: on


def digits(found: float, certified: float) -> float:
    """Log relative error: the number of correct digits."""
    return 16.0 if found == certified else -math.log10(abs(found - certified) / abs(certified))


@pytest.mark.parametrize(
    ("model", "data", "start", "certified"),
    [
        pytest.param(model, data, start, certified, id=f"{name}-{place}")
        for name, model, data, starts, certified in CERTIFIED
        for place, start in enumerate(starts, 1)
    ],
)
def test_certified_digits(model, data, start, certified) -> None:  # type: ignore[no-untyped-def]
    names = [f"b{i}" for i in range(1, len(start) + 1)]
    fit = fit_nonlinear(
        model,
        np.array(data[0]),
        np.array(data[1]),
        {name: Start(float(value)) for name, value in zip(names, start, strict=True)},
    )
    assert isinstance(fit, NonlinearFit)
    values, errors, squares = certified
    for name, value, error in zip(names, values, errors, strict=True):
        assert digits(fit.values[name], value) > 6
        assert digits(fit.standard_errors[name], error) > 4
    assert digits(fit.sum_of_squares, squares) > 6


def test_far_start_of_boxbod_is_named_or_right() -> None:
    """NIST's first start (1, 1) defeats Levenberg-Marquardt in most packages."""
    fit = fit_nonlinear(
        saturating, np.array(BOXBOD[0]), np.array(BOXBOD[1]), {"b1": Start(1.0), "b2": Start(1.0)}
    )
    if isinstance(fit, NonlinearFit):
        assert digits(fit.sum_of_squares, 1.1680088766e3) > 6
    else:
        assert fit.reason is Unavailable.NOT_CONVERGED


def line(x: np.ndarray, a: float, b: float) -> np.ndarray:
    return a + b * x


X = np.arange(8.0)


@pytest.mark.parametrize(
    ("y", "starts", "reason"),
    [
        (X[:2], {"a": Start(0.0), "b": Start(1.0)}, Unavailable.TOO_FEW_POINTS),
        (np.full(8, 3.0), {"a": Start(0.0), "b": Start(1.0)}, Unavailable.FLAT),
        (
            np.where(X == 3, np.nan, X),
            {"a": Start(0.0), "b": Start(1.0)},
            Unavailable.NOT_FINITE,
        ),
        (
            X * 2 + np.sin(X),
            {"a": Start(0.0), "b": Start(0.5, low=0.0, high=1.0)},
            Unavailable.AT_BOUND,
        ),
    ],
)
def test_named_outcomes(y: np.ndarray, starts: dict[str, Start], reason: Unavailable) -> None:
    fit = fit_nonlinear(line, X[: y.size], y, starts)
    assert isinstance(fit, Missing)
    assert fit.reason is reason
    assert fit.detail


def test_parameters_that_cannot_be_told_apart_are_named() -> None:
    fit = fit_nonlinear(
        lambda x, a, b: (a + b) * x, X, X + np.sin(X), {"a": Start(0.5), "b": Start(0.5)}
    )
    assert isinstance(fit, Missing)
    assert fit.reason is Unavailable.NOT_CONVERGED
