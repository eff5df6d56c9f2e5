"""Many simulated sweeps fitted at once: the slope's interval when runs stop at a budget.

In Olsen's parameters, 1/sigma and beta/sigma, the log-likelihood of right-censored log-normal
times is concave, so Newton's method from the least-squares fit needs no safeguard and all
studies are solved together. The intervals are those of
:mod:`nht_theory.inference.censored_regression`; a test holds the two together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from nht_theory.inference.samples import Vector

STEPS = 40
"""Newton steps after which a study that has not settled counts as having no fit."""
TOLERANCE = 1e-8


def simulated_slope_limits(
    level: Vector,
    *,
    slope: float,
    scale: float,
    log_median: float,
    log_budget: float,
    coverage: float,
    simulations: int,
    seed: int = 0,
) -> tuple[Vector, Vector]:
    """Limits of the slope in each simulated study, shapes [simulations]; NaN without a fit.

    Args:
        level: covariate of each run, shape [n].
        slope, scale, log_median: of ln T = log_median + slope * level + scale * W.
        log_budget: ln of the step at which every run stops.
        coverage: of the interval.
        simulations, seed: the same seed gives the same studies.

    References:
        Olsen (1978), Econometrica 46, 1211-1215, for the concave parameters.

    Example:
        >>> low, high = simulated_slope_limits(np.repeat([-1.0, 0.0, 1.0], 8), slope=1.0,
        ...     scale=0.2, log_median=7.0, log_budget=7.5, coverage=0.95, simulations=200)
        >>> bool(0.90 < np.mean((low < 1) & (1 < high)) < 0.99)
        True
    """
    noise = np.random.default_rng(seed).normal(size=(simulations, level.size))
    time = log_median + slope * level + scale * noise
    seen = time <= log_budget
    y = np.minimum(time, log_budget)
    events = seen.sum(axis=1)
    params, covariance, settled = _fit(np.column_stack([np.ones_like(level), level]), y, seen)
    gamma, ratio = params[:, 2], params[:, 1]
    gradient = np.stack([np.zeros_like(gamma), 1 / gamma, -ratio / gamma**2], axis=1)
    variance = np.einsum("si,sij,sj->s", gradient, covariance, gradient)
    free = events - 2
    usable = settled & (free > 0) & (variance > 0) & (gamma > 0)
    half = np.full(simulations, np.nan)
    enlarged = variance[usable] * events[usable] / free[usable]
    half[usable] = stats.t.ppf(0.5 + coverage / 2, free[usable]) * np.sqrt(enlarged)
    estimate = np.where(usable, ratio / np.where(usable, gamma, 1.0), np.nan)
    return estimate - half, estimate + half


def _fit(x: Vector, y: Vector, seen: NDArray[np.bool_]) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Parameters (beta/sigma, 1/sigma), inverse information, and which studies settled."""
    coefficients = np.linalg.lstsq(x, y.T, rcond=None)[0].T
    spread = np.maximum(np.std(y - coefficients @ x.T, axis=1), 1e-3)
    params = np.column_stack([coefficients, np.ones(len(y))]) / spread[:, None]
    # z = gamma y - x delta is linear in the parameters: its derivative is (-x, y).
    slopes = np.concatenate([np.broadcast_to(-x, (*y.shape, 2)), y[..., None]], axis=2)
    information = np.broadcast_to(np.eye(3), (len(y), 3, 3))
    change = np.full(len(y), np.inf)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            score, information = _derivatives(params, slopes, y, seen)
            step = np.linalg.solve(_regular(information), score[..., None])[..., 0]
            # Near gamma = 0 a full step may leave the domain: never more than halve it.
            lowest = -0.5 * params[:, 2]
            shrink = np.where(step[:, 2] < lowest, lowest / step[:, 2], 1.0)
            params = params + shrink[:, None] * step
            change = np.abs(step / params).max(axis=1)
            if np.nanmax(change) < TOLERANCE:
                break
    _, information = _derivatives(params, slopes, y, seen)
    settled = np.isfinite(params).all(axis=1) & (change < math.sqrt(TOLERANCE))
    covariance = np.asarray(np.linalg.inv(_regular(information)), dtype=np.float64)
    return params, covariance, settled


def _derivatives(
    params: Vector, slopes: Vector, y: Vector, seen: NDArray[np.bool_]
) -> tuple[Vector, Vector]:
    """Score and information of every study, shapes [s, 3] and [s, 3, 3]."""
    z = np.einsum("snp,sp->sn", slopes, params)
    hazard = np.exp(-0.5 * z**2 - 0.5 * math.log(2 * math.pi) - special.log_ndtr(-z))
    first = np.where(seen, -z, -hazard)
    second = np.where(seen, 1.0, hazard * (hazard - z))
    events = seen.sum(axis=1)
    score = np.einsum("sn,snp->sp", first, slopes)
    information = np.einsum("sn,snp,snq->spq", second, slopes, slopes, optimize=True)
    score[:, 2] += events / params[:, 2]
    information[:, 2, 2] += events / params[:, 2] ** 2
    return score, information


def _regular(information: Vector) -> Vector:
    """The information, with the unit matrix in place of what cannot be inverted."""
    good = np.asarray(np.isfinite(information).all(axis=(1, 2)))
    filled = np.where(good[:, None, None], information, np.eye(3))
    determinant: Vector = np.asarray(np.linalg.det(filled), dtype=np.float64)
    return np.where(np.abs(determinant)[:, None, None] > 1e-9, filled, np.eye(3))
