"""What a norm does over a run: does it rise, does it fall, and when does it peak?

One notion for every claim that speaks of a peak. A peak needs a rise and a fall, and both must
exceed the noise of the series itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.results import Missing, Unavailable
from nht_theory.runs import columns
from nht_theory.runs.run import Run

Vector = np.ndarray

FEWEST = 6
"""Evaluations below which noise looks like a peak: n values in random order rise to an inner peak
and fall with probability (2^(n-1) - 2)/n!, which is 0.12 for five and 0.04 for six."""
LEAST_CHANGE = 0.01
"""Share of V by which it must move at least: the paper counts a norm that loses less than 1 % as
one that does not fall (arXiv 2603.07323, weak decay on CIFAR-10)."""
LONGEST = 2000
"""Longer series are averaged over equal numbers of neighbouring evaluations."""


@dataclass(frozen=True)
class RiseAndFall:
    """What one norm did over a run, or a part of it.

    Attributes:
        rise: ln of the peak over the first level, of the fitted rise and fall; 0 or more.
        fall: ln of the peak over the last level, likewise.
        noise: standard deviation of ln V about the fit.
        rises, falls: whether that exceeds the noise, and 1 % of V.
        largest_step: evaluation at which the fit is largest; the first where V only falls.
    """

    rise: float
    fall: float
    noise: float
    rises: bool
    falls: bool
    largest_step: int

    @property
    def peak_step(self) -> int | None:
        """Step of the peak; None where V does not rise, or does not fall."""
        return self.largest_step if self.rises and self.falls else None


def rise_and_fall(
    run: Run,
    column: str = columns.SQUARED_NORM,
    *,
    since: int = 0,
    until: int | None = None,
) -> RiseAndFall | Missing:
    """Fit ln V by least squares with a series that first rises and then falls, and judge both.

    Either part may be empty. V rises where, of the levels of the fit, a later one exceeds an
    earlier one by more than 2 sqrt(ln n) standard errors of their difference, the most that n
    values of pure noise reach (all pairs of them), and by 1 % of V; it falls likewise. The noise
    is the larger of two robust standard deviations: about the fit, and that of second
    differences, which the fit cannot absorb. Standard errors are widened by
    sqrt((1 + r)/(1 - r)) for neighbouring residuals correlated by r. The norm of the
    initialisation, at step 0, is used where V rises from it, and left out where V falls from it.

    Args:
        run: the run.
        column: of the squared norm.
        since: first step used.
        until: last step used; None for the end.

    Returns:
        Missing where the norm is not logged, or at fewer than six evaluations.

    Source: derived here. Least squares under an order: Robertson, Wright and Dykstra (1988),
    Order Restricted Statistical Inference, section 1; the bound on the largest of n values of
    noise: Donoho and Johnstone (1994), Biometrika 81, 425-455.

    Example:
        >>> steps = np.arange(12)
        >>> run = Run("r", None, steps, {"squared_norm": np.exp(-0.1 * np.abs(steps - 5.0))})
        >>> found = rise_and_fall(run)
        >>> found.peak_step, round(found.rise, 6), round(found.fall, 6)
        (5, 0.5, 0.6)
        >>> falling = Run("r", None, steps, {"squared_norm": np.exp(-0.1 * steps)})
        >>> rise_and_fall(falling).peak_step is None
        True
    """
    if not run.has(column):
        return Missing(Unavailable.NO_COLUMN, column)
    series = run.column(column)
    keep = np.isfinite(series) & (series > 0) & (run.steps >= since)
    if until is not None:
        keep &= run.steps <= until
    steps, log_norm = run.steps[keep], np.log(series[keep])
    if steps.size > 1 and steps[0] == 0 and log_norm[0] > log_norm[1]:
        steps, log_norm = steps[1:], log_norm[1:]
    if steps.size < FEWEST:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} evaluations of {column}")
    width = math.ceil(steps.size / LONGEST)
    averaged = _averaged(log_norm, width)
    levels, counts = _fit(averaged)
    fitted = np.repeat(levels, counts)
    noise, widened = _noise(averaged, fitted)
    top = int(np.argmax(levels))
    bound = 2 * math.sqrt(math.log(averaged.size)) * widened
    rises = _exceeds(levels[: top + 1], counts[: top + 1], bound)
    falls = _exceeds(levels[top:][::-1], counts[top:][::-1], bound)
    first = width * int(counts[:top].sum())
    inside = log_norm[first : first + width * int(counts[top])]
    return RiseAndFall(
        rise=float(levels[top] - levels[0]),
        fall=float(levels[top] - levels[-1]),
        noise=noise,
        rises=rises,
        falls=falls,
        largest_step=int(steps[first + int(np.argmax(inside))]),
    )


def _averaged(values: Vector, width: int) -> Vector:
    """Means of ``width`` neighbours each, shape [ceil(n / width)]; the last may have fewer."""
    starts = np.arange(0, values.size, width)
    means: Vector = np.add.reduceat(values, starts) / np.diff([*starts, values.size])
    return means


def _fit(values: Vector) -> tuple[Vector, Vector]:
    """Levels of the least-squares fit that rises and then falls, and how many values each has."""
    up = _costs(values)
    down = _costs(values[::-1])[::-1]
    turn = int(np.argmin(up + down))
    rising, falling = _pooled(values[:turn]), _pooled(values[turn:][::-1])[::-1]
    blocks = np.array([*rising, *falling])
    return blocks[:, 0], blocks[:, 1].astype(np.int64)


def _pooled(values: Vector) -> list[tuple[float, int]]:
    """(Mean, count) of the blocks of the rising fit: neighbours out of order are pooled."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, count = float(value), 1
        while blocks and blocks[-1][0] >= mean:
            before, more = blocks.pop()
            mean, count = (mean * count + before * more) / (count + more), count + more
        blocks.append((mean, count))
    return blocks


def _costs(values: Vector) -> Vector:
    """Squared error of the rising fit to the first k values, k from 0 to n, shape [n + 1]."""
    blocks: list[tuple[float, int, float]] = []
    total, costs = 0.0, [0.0]
    for value in values:
        mean, count, cost = float(value), 1, 0.0
        while blocks and blocks[-1][0] >= mean:
            before, more, own = blocks.pop()
            total -= own
            cost += own + (before - mean) ** 2 * count * more / (count + more)
            mean, count = (mean * count + before * more) / (count + more), count + more
        blocks.append((mean, count, cost))
        total += cost
        costs.append(max(total, 0.0))
    return np.array(costs)


def _noise(values: Vector, fitted: Vector) -> tuple[float, float]:
    """Robust standard deviation of one value, and the same widened for autocorrelation.

    Medians, so that the descent from the initialisation, which a rise and a fall cannot follow,
    is not taken for noise.
    """
    residuals = values - fitted
    levels = 1 + int(np.count_nonzero(np.diff(fitted)))
    free = max(values.size - levels, 1)
    normal = 1.4826  # median of absolute values -> standard deviation of a normal distribution
    about_fit = normal * float(np.median(np.abs(residuals))) * math.sqrt(values.size / free)
    rough = normal * float(np.median(np.abs(np.diff(values, 2)))) / math.sqrt(6)
    noise = max(about_fit, rough)
    clipped = np.clip(residuals, -3 * noise, 3 * noise)
    power = float(clipped @ clipped)
    correlation = float(clipped[1:] @ clipped[:-1]) / power if power > 0 else 0.0
    correlation = min(max(correlation, 0.0), 0.99)
    return noise, noise * math.sqrt((1 + correlation) / (1 - correlation))


def _exceeds(levels: Vector, counts: Vector, bound: float) -> bool:
    """Whether two of some rising levels (shape [m], means of ``counts`` values each) differ by
    more than ``bound`` times sqrt(1/count + 1/count)."""
    if levels[-1] - levels[0] < math.log1p(LEAST_CHANGE):
        return False
    gaps = levels[None, :] - levels[:, None]
    return bool((gaps > bound * np.sqrt(1 / counts[None, :] + 1 / counts[:, None])).any())
