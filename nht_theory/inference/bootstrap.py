"""Cluster bootstrap: whole runs are drawn, never single checkpoints of one run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import DomainError
from nht_theory.inference.results import Estimate, Interval
from nht_theory.inference.samples import Vector, check_same_length, group_codes

DEFAULT_RESAMPLES = 2000
FEWEST_CLUSTERS = 3
"""With fewer clusters a bootstrap has next to nothing to draw from: no interval is given."""


def cluster_bootstrap(
    statistic: Callable[[NDArray[np.int64]], float],
    clusters: ArrayLike,
    *,
    unit: str,
    strata: ArrayLike | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
    coverage: float = CONFIDENCE,
) -> Estimate:
    """A statistic with its percentile interval under resampling of whole clusters.

    Args:
        statistic: takes the indices of the observations drawn (int64, any length, repeats
            allowed) and returns a number, NaN where it is undefined for that draw.
        clusters: label of the cluster (run, or seed) of each observation, shape [n].
        unit: of the statistic.
        strata: label of each observation's stratum (configuration); clusters are drawn within
            their stratum, so that every resample keeps the design. A cluster lies in one stratum.
        resamples, seed: the same seed gives the same interval, bit for bit.

    ``n`` of the result is the number of clusters. Undefined resamples are counted in
    ``left_out``; more than half of them undefined, or fewer than three clusters, gives no
    interval and says so in ``method``.

    Raises:
        DomainError: lengths differ, or a cluster lies in two strata.

    References:
        Davison and Hinkley (1997), section 3.8; Cameron, Gelbach and Miller (2008).

    Example:
        >>> x = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0])
        >>> e = cluster_bootstrap(lambda rows: float(x[rows].mean()), [0, 0, 1, 1, 2, 2, 3, 3],
        ...                       unit="1")
        >>> e.value, e.n, 2.5 in e.interval
        (2.5, 4, True)
    """
    code, names = group_codes(clusters, "clusters")
    members = [np.flatnonzero(code == place) for place in range(len(names))]
    stratum = strata_of_clusters(code, strata)
    value = float(statistic(np.arange(code.size)))
    counts = resampled_counts(stratum, resamples=resamples, seed=seed)
    draws = np.array(
        [
            statistic(np.concatenate([np.tile(members[c], row[c]) for c in np.flatnonzero(row)]))
            for row in counts
        ]
    )
    return percentile_estimate(value, draws, unit=unit, n=len(names), coverage=coverage)


def strata_of_clusters(
    cluster_codes: NDArray[np.int64], strata: ArrayLike | None
) -> NDArray[np.int64]:
    """Stratum code of each cluster, shape [clusters].

    Raises:
        DomainError: a cluster lies in two strata.
    """
    n_clusters = int(cluster_codes.max()) + 1
    if strata is None:
        return np.zeros(n_clusters, dtype=np.int64)
    codes, names = group_codes(strata, "strata")
    check_same_length(clusters=cluster_codes, strata=codes)
    result = np.full(n_clusters, -1, dtype=np.int64)
    for cluster, stratum in zip(cluster_codes, codes, strict=True):
        if result[cluster] not in (-1, stratum):
            raise DomainError(
                f"one cluster lies in strata {names[result[cluster]]} and {names[stratum]}",
                source="strata",
                remedy="give each cluster one stratum, or name clusters apart",
            )
        result[cluster] = stratum
    return result


def resampled_counts(
    stratum_of_cluster: NDArray[np.int64], *, resamples: int, seed: int
) -> NDArray[np.int64]:
    """How often each cluster is drawn in each resample, shape [resamples, clusters].

    Example:
        >>> resampled_counts(np.array([0, 0, 1]), resamples=2, seed=0)[:, 2]
        array([1, 1])
    """
    generator = np.random.default_rng(seed)
    counts = np.zeros((resamples, stratum_of_cluster.size), dtype=np.int64)
    for stratum in np.unique(stratum_of_cluster):
        inside = np.flatnonzero(stratum_of_cluster == stratum)
        counts[:, inside] = generator.multinomial(
            inside.size, np.full(inside.size, 1 / inside.size), size=resamples
        )
    return counts


def percentile_estimate(
    value: float, draws: Vector, *, unit: str, n: int, coverage: float = CONFIDENCE
) -> Estimate:
    """The estimate ``value`` with standard error and percentile interval of ``draws``."""
    defined = draws[np.isfinite(draws)]
    undefined = draws.size - defined.size
    left_out = (f"{undefined} of {draws.size} resamples, undefined",) if undefined else ()
    name = f"cluster bootstrap, {draws.size} resamples of {n} clusters"
    if n < FEWEST_CLUSTERS or defined.size < draws.size / 2:
        why = "too few clusters" if n < FEWEST_CLUSTERS else "undefined in most resamples"
        return Estimate(value, unit, f"{name}: no interval, {why}", n, left_out=left_out)
    tail = (1 - coverage) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Estimate(
        value=value,
        unit=unit,
        method=name,
        n=n,
        interval=Interval(float(low), float(high), coverage, "percentile cluster bootstrap"),
        standard_error=float(defined.std(ddof=1)),
        left_out=left_out,
    )
