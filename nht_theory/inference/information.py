"""Choosing between models: AICc and its weights, likelihood-ratio and Vuong tests."""

from __future__ import annotations

import math

import numpy as np
import scipy  # its submodules load when used
from numpy.typing import ArrayLike

from nht_theory.errors import DomainError
from nht_theory.inference.results import Alternative, HypothesisTest
from nht_theory.inference.samples import Vector, check_same_length, finite_vector


def aicc(log_likelihood: float, parameters: int, n: int) -> float:
    """Akaike's criterion corrected for small samples; infinite when n <= parameters + 1.

    ``parameters`` counts every fitted one, the scale included; ``n`` counts independent
    observations.

    References:
        Hurvich and Tsai (1989), Biometrika 76, 297-307.

    Example:
        >>> aicc(-10.0, 2, 20)
        24.705882352941178
    """
    if parameters < 0 or n < 1:
        raise DomainError(f"{parameters} parameters, n = {n}", source="parameters, n")
    room = n - parameters - 1
    if room <= 0:
        return math.inf
    return -2 * log_likelihood + 2 * parameters + 2 * parameters * (parameters + 1) / room


def aicc_least_squares(residuals: ArrayLike, coefficients: int) -> float:
    """AICc of a least-squares fit with Gaussian errors (one more parameter: their variance).

    ``residuals`` has shape [n]; an exact fit gives minus infinity.

    Example:
        >>> round(aicc_least_squares([1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 1), 6)
        25.027262
    """
    r = finite_vector(residuals, "residuals")
    mean_square = float(r @ r) / r.size
    if mean_square == 0:
        return -math.inf
    return aicc(-0.5 * r.size * (math.log(2 * math.pi * mean_square) + 1), coefficients + 1, r.size)


def akaike_weights(criteria: ArrayLike) -> Vector:
    """Relative support of models from their AICc, shape [m], summing to one.

    Example:
        >>> akaike_weights([10.0, 10.0, float("inf")])
        array([0.5, 0.5, 0. ])
    """
    values = np.asarray(criteria, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or np.isnan(values).any() or np.isposinf(values).all():
        raise DomainError("no finite criterion to compare", source="criteria")
    if np.isneginf(values).any():
        exact = np.isneginf(values).astype(np.float64)
        return np.asarray(exact / exact.sum())
    support = np.exp(-0.5 * (values - values.min()))
    return np.asarray(support / support.sum())


def likelihood_ratio_test(
    full: float, restricted: float, *, extra_parameters: int, n: int
) -> HypothesisTest:
    """Test of a restriction from the two maximised log-likelihoods (Wilks's chi-square).

    Raises:
        DomainError: the full model fits worse than the restricted one by more than rounding:
            its fit stopped short of the maximum.

    Example:
        >>> round(likelihood_ratio_test(-10.0, -11.92072941, extra_parameters=1, n=50).p_value, 6)
        0.05
    """
    statistic = 2 * (full - restricted)
    if extra_parameters < 1 or statistic < -1e-6 * max(1.0, abs(full)):
        raise DomainError(
            f"log-likelihoods {full:g} (full) and {restricted:g} (restricted)",
            source="full",
            remedy="nest the models, and start the full fit from the restricted one",
        )
    statistic = max(0.0, statistic)
    return HypothesisTest(
        statistic=statistic,
        statistic_name="likelihood ratio",
        p_value=float(scipy.special.chdtrc(extra_parameters, statistic)),
        n=n,
        alternative=Alternative.GREATER,
        method=f"chi-square with {extra_parameters} degrees of freedom",
    )


def vuong_test(
    first: ArrayLike, second: ArrayLike, *, first_parameters: int, second_parameters: int
) -> HypothesisTest:
    """Vuong's test of two non-nested models, with Schwarz's correction for parameters.

    Args:
        first, second: log-likelihood of each observation under the two models, shape [n].
        first_parameters, second_parameters: how many each fitted.

    The statistic is the mean difference over its standard error, with Student's t of n - 1 degrees
    of freedom: Vuong's normal limit needs many observations, and with four units (configurations)
    it would call p = 0.001 what is 0.05. Positive favours the first. Models that cannot be told
    apart (no variance) give statistic 0 and p-value 1.

    References:
        Vuong (1989), Econometrica 57, 307-333, equations 3.1 and 5.9.

    Example:
        >>> vuong_test([-1.0, -1.2, -0.9], [-1.0, -1.2, -0.9],
        ...            first_parameters=2, second_parameters=2).p_value
        1.0
    """
    a = finite_vector(first, "first", at_least=2)
    b = finite_vector(second, "second", at_least=2)
    check_same_length(first=a, second=b)
    difference = a - b
    n = difference.size
    spread = float(difference.std(ddof=1))
    penalty = 0.5 * (first_parameters - second_parameters) * math.log(n)
    if spread <= 1e-12 * max(1.0, float(np.abs(a).max())):
        statistic, p_value = 0.0, 1.0
    else:
        statistic = (float(difference.sum()) - penalty) / (math.sqrt(n) * spread)
        p_value = float(2 * scipy.special.stdtr(n - 1, -abs(statistic)))
    return HypothesisTest(
        statistic=statistic,
        statistic_name="Vuong's t (positive favours the first model)",
        p_value=p_value,
        n=n,
        alternative=Alternative.TWO_SIDED,
        method=f"Vuong test of non-nested models, Schwarz correction, Student's t with {n - 1} "
        "degrees of freedom",
        references=("vuong1989",),
    )
