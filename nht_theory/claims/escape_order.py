"""P4: layers nearer the output escape first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.rules import by_direction, more_for_p
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.groups import ESCAPED_SHARE, escape, layer_groups
from nht_theory.estimators.results import Crossing, StudyEstimates
from nht_theory.inference.results import Alternative
from nht_theory.inference.trend import page_l

NAME = "P4"
FEWEST_LAYERS = 3
FEWEST_CONFIGURATIONS = 2
NEEDS = (
    f"accuracies and squared norms of {FEWEST_LAYERS} or more layers with their depth, in "
    f"{FEWEST_CONFIGURATIONS} or more configurations with a delay, in which a layer's norm falls"
)
Names = tuple[str, ...]


@dataclass(frozen=True)
class Escapes:
    """Escape steps of the layers of one configuration, from input to output.

    Attributes:
        steps: medians over its runs, or the last step seen, shape [layers].
        seen: False where the median run has not escaped, shape [layers].
        runs: their names.
    """

    steps: tuple[float, ...]
    seen: tuple[bool, ...]
    runs: tuple[str, ...]


def test(study: StudyEstimates) -> Verdict:
    """Page's L over depth of the steps at which each layer has lost a tenth of its peak."""
    tables, unknown = _tables(study)
    names, by_configuration = max(tables.items(), key=lambda entry: len(entry[1]), default=((), {}))
    rows = list(by_configuration.values())
    if len(rows) < FEWEST_CONFIGURATIONS:
        return _too_few(rows, names, unknown)
    time = np.array([row.steps for row in rows], dtype=np.float64)
    seen = np.array([row.seen for row in rows])
    earlier = page_l(time, observed=seen, alternative=Alternative.LESS)
    later = page_l(time, observed=seen, alternative=Alternative.GREATER)
    verdict, p_value = by_direction(earlier.p_value, later.p_value)
    runs = tuple(name for row in rows for name in row.runs)
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=earlier.statistic,
        statistic_name="Page's L of escape steps over depth (small: the output first)",
        interval=None,
        p_value=p_value,
        n=len(runs),
        n_censored=int((~seen).any(axis=1).sum()),
        rule=f"Page's L over {len(names)} layers from input to output in {len(rows)} "
        f"configurations (medians of their runs), {earlier.method}: earlier towards the output "
        f"p = {earlier.p_value:.3g}, later p = {later.p_value:.3g}, two-sided {p_value:.3g}",
        details=(
            f"a layer has escaped when its V is below {ESCAPED_SHARE:.0%} of its peak since "
            "memorisation; n censored counts configurations",
            *_medians(names, rows),
            *(
                f"left out: {len(others)} configurations with other layers"
                for key, others in tables.items()
                if key != names
            ),
            *_unknown(unknown),
        ),
        power=more_for_p(p_value / 2, len(rows), "configurations")
        if verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=runs,
        units=len(rows),
        unit="configurations",
    )


def _tables(study: StudyEstimates) -> tuple[dict[Names, dict[str, Escapes]], int]:
    """Names of the layers -> configuration -> escapes; and how many runs with layers do not log
    their accuracies."""
    found: dict[Names, dict[str, list[tuple[str, list[Crossing]]]]] = {}
    unknown = sum(
        len(layer_groups(run)) >= FEWEST_LAYERS for run, _ in selection.of_unknown_transition(study)
    )
    for run, own in selection.with_transition(study):
        layers = layer_groups(run)
        if len(layers) < FEWEST_LAYERS:
            continue
        since = own.memorization_step or 0
        events = [escape(run, layer.name, since) for layer in layers]
        crossings = [event for event in events if isinstance(event, Crossing)]
        if len(crossings) == len(layers) and not all(event.censored for event in crossings):
            names = tuple(layer.name for layer in layers)
            configurations = found.setdefault(names, {})
            configurations.setdefault(selection.stratum(run), []).append((run.name, crossings))
    return {
        names: {label: _escapes(own) for label, own in configurations.items()}
        for names, configurations in found.items()
    }, unknown


def _escapes(runs: list[tuple[str, list[Crossing]]]) -> Escapes:
    """Median over the runs of each layer's escape; censored where the median run has not escaped.

    The last step seen stands for a censored run, so that the median is a lower bound there.
    """
    steps = np.array(
        [[event.step or event.earlier_step for event in events] for _, events in runs],
        dtype=np.float64,
    )
    escaped = np.array([[not event.censored for event in events] for _, events in runs])
    seen = np.isfinite(np.median(np.where(escaped, steps, np.inf), axis=0))
    return Escapes(
        tuple(np.median(steps, axis=0).tolist()),
        tuple(seen.tolist()),
        tuple(name for name, _ in runs),
    )


def _too_few(rows: Sequence[Escapes], names: Names, unknown: int) -> Verdict:
    """Not applicable: no configuration, or one, whose seeds share the order of its layers."""
    missing = f"needs {NEEDS}"
    if rows:
        missing += (
            f"; {len(rows[0].runs)} runs of one configuration decide nothing beyond it, since its "
            "seeds share the order of its layers"
        )
    if unknown:
        missing += f"; {unknown} runs do not log their accuracies"
    return replace(not_applicable(NAME, missing), details=_medians(names, rows))


def _medians(names: Names, rows: Sequence[Escapes]) -> tuple[str, ...]:
    lines = []
    for place, name in enumerate(names):
        steps = [row.steps[place] if row.seen[place] else math.inf for row in rows]
        median = float(np.median(steps))
        said = "not reached" if math.isinf(median) else f"{median:.0f}"
        lines.append(f"{name}: median escape step {said}")
    return tuple(lines)


def _unknown(count: int) -> tuple[str, ...]:
    return (f"left out: {count} runs that do not log their accuracies",) if count else ()


CLAIM = Claim(
    name=NAME,
    statement="The transition runs backwards through the network: layers nearer the output "
    "contract and escape first (proposition 4.2).",
    needs=NEEDS,
    rule="supported when escape steps fall with depth (Page's L within configurations, each layer "
    "at the median of their runs, two-sided), refuted when they rise; a layer that has not escaped "
    "is right-censored; runs that never memorise, or generalise as soon as they do, have no "
    "transition and are left out, as are those whose accuracies are not logged",
    references=("arXiv:2603.07323", "page1963", "gehan1965"),
    formulas=("layer_rate", "layer_escape_time"),
    against="configurations in which layers nearer the input escape first",
    in_favour="configurations in which layers nearer the output escape first",
    undecidable="one configuration, weights without accuracies, or layers of which none escapes; "
    "nothing is decided beyond the architectures that were trained",
    test=test,
)
