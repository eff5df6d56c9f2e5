"""Whether the runs of a study say which of them share a configuration.

Runs of one configuration differ in their seed alone. Logs that state no setting leave open whether
they are seeds of one configuration or seven experiments; taken as one, they are the wrong units of
every test, and a forecast of one by "other seeds" is a forecast by other experiments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from nht_theory.runs.run import Run

_SEED = re.compile(r"(?<![A-Za-z])(?:(?:random|rng)[-_ ]?)?(?:seed|s|rs)[-_=. ]?\d+", re.IGNORECASE)
_POSITION = re.compile(r"\[\d+\]")
_SEPARATORS = re.compile(r"[^A-Za-z0-9.]+")
_FOLLOWS = "parameter_count"
"""What is counted in the weights and not chosen."""

REMEDY = (
    "state what differs with --set NAME=VALUE, or read it from the names with "
    "--pattern 'wd{weight_decay}_seed{seed}'"
)


class Configurations(StrEnum):
    """Whether the configurations of a study can be told apart, and why not."""

    KNOWN = "known"
    NOTHING_STATED = "no setting of two or more runs can be read"
    GROUPS_UNEXPLAINED = (
        "what the runs state is the same for all, but their names tell groups apart that are "
        "not seeds"
    )

    @property
    def known(self) -> bool:
        """Whether they can."""
        return self is Configurations.KNOWN

    def __str__(self) -> str:
        """The sentence that is printed.

        Example:
            >>> print(Configurations.GROUPS_UNEXPLAINED)
            settings unknown: configurations cannot be told apart (what the runs state is the same
            for all, but their names tell groups apart that are not seeds)
        """
        if self.known:
            return self.value
        return f"settings unknown: configurations cannot be told apart ({self.value})"


def configurations_of(runs: Sequence[Run]) -> Configurations:
    """Whether runs say which of them share a configuration.

    They do where their settings differ; where these are stated and equal and the names tell no
    groups apart, or where each run has a seed of its own; and where nothing is stated but seeds.

    Example:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> made = [Run(name, Path("."), np.arange(2)) for name in ("a/0", "a/1", "b/0")]
        >>> configurations_of(made).name, configurations_of(made[:1]).name
        ('NOTHING_STATED', 'KNOWN')
        >>> configurations_of([Run(f"seed{s}", Path("."), np.arange(2)) for s in range(3)]).name
        'KNOWN'
    """
    chosen = _chosen(runs)
    silent = [run for run, settings in zip(runs, chosen, strict=True) if not settings]
    if len(silent) > 1 and not (_one_seed_each(silent) or _differ_in_seeds(silent)):
        return Configurations.NOTHING_STATED
    if len(set(chosen)) < 2 and not _one_seed_each(runs) and _tell_groups_apart(runs):
        return Configurations.GROUPS_UNEXPLAINED
    return Configurations.KNOWN


def _chosen(runs: Sequence[Run]) -> list[tuple[tuple[str, str], ...]]:
    """The configurations, without a number of parameters that all share."""
    stated = [run.hyperparameters.configuration() for run in runs]
    if len({run.hyperparameters.parameter_count for run in runs}) > 1:
        return stated
    return [tuple(pair for pair in one if pair[0] != _FOLLOWS) for one in stated]


def _one_seed_each(runs: Sequence[Run]) -> bool:
    seeds = [run.hyperparameters.seed for run in runs]
    return None not in seeds and len(set(seeds)) == len(seeds)


def _differ_in_seeds(runs: Sequence[Run]) -> bool:
    """Whether names are equal once their seeds are taken out."""
    return len({_without_seed(run.name) for run in runs}) == 1


def _tell_groups_apart(runs: Sequence[Run]) -> bool:
    """Whether a word of the names is shared by several runs and not by all, seeds apart."""
    counts = Counter(
        word
        for run in runs
        for word in set(_SEPARATORS.split(_without_seed(run.name)))
        if word and not word.replace(".", "").isdigit()
    )
    return any(1 < count < len(runs) for count in counts.values())


def _without_seed(name: str) -> str:
    return _SEED.sub("", _POSITION.sub("", name))
