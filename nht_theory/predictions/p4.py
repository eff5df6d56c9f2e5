"""P4: layers nearer the output escape first."""

from __future__ import annotations

import numpy as np

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.groups import ESCAPED_SHARE, escape, layer_groups
from nht_theory.estimators.results import Crossing, StudyEstimates
from nht_theory.inference.results import Alternative
from nht_theory.inference.trend import page_l
from nht_theory.predictions import selection
from nht_theory.predictions.rules import by_direction, more_for_p
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "P4"
FEWEST_LAYERS = 3
NEEDS = (
    f"squared norms of {FEWEST_LAYERS} or more layers with their depth, in two or more runs with "
    "a delay"
)


def judge(study: StudyEstimates) -> Verdict:
    """Page's L over depth of the steps at which each layer has lost a tenth of its peak."""
    tables: dict[tuple[str, ...], dict[str, list[Crossing]]] = {}
    for run, own in selection.with_transition(study):
        layers = layer_groups(run)
        since = own.memorization_step or 0
        events = [escape(run, layer.name, since) for layer in layers]
        found = [event for event in events if isinstance(event, Crossing)]
        if len(layers) < FEWEST_LAYERS or len(found) < len(layers):
            continue
        if sum(not event.censored for event in found) >= 1:
            tables.setdefault(tuple(layer.name for layer in layers), {})[run.name] = found
    if not tables or max(len(rows) for rows in tables.values()) < 2:
        return not_applicable(NAME, f"needs {NEEDS}, in which a layer's norm falls")
    names, by_run = max(tables.items(), key=lambda entry: len(entry[1]))
    rows = list(by_run.values())
    time = np.array(
        [[event.earlier_step if event.censored else event.step for event in row] for row in rows],
        dtype=np.float64,
    )
    seen = np.array([[not event.censored for event in row] for row in rows])
    earlier = page_l(time, observed=seen, alternative=Alternative.LESS)
    later = page_l(time, observed=seen, alternative=Alternative.GREATER)
    verdict, p_value = by_direction(earlier.p_value, later.p_value)
    medians = np.median(np.where(seen, time, np.inf), axis=0)
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=earlier.statistic,
        statistic_name="Page's L of escape steps over depth (small: the output first)",
        interval=None,
        p_value=p_value,
        n=len(rows),
        n_censored=int((~seen).any(axis=1).sum()),
        rule=f"Page's L over {len(names)} layers from input to output, {earlier.method}: earlier "
        f"towards the output p = {earlier.p_value:.3g}, later p = {later.p_value:.3g}",
        details=(
            f"a layer has escaped when its V is below {ESCAPED_SHARE:.0%} of its peak since "
            "memorisation",
            *(
                f"{name}: median escape step "
                + ("not reached" if np.isinf(median) else f"{median:.0f}")
                for name, median in zip(names, medians, strict=True)
            ),
            *(
                f"left out: {len(others)} runs with other layers"
                for key, others in tables.items()
                if key != names
            ),
        ),
        power=more_for_p(p_value, len(rows), "runs") if verdict is VerdictKind.INCONCLUSIVE else "",
        runs=tuple(by_run),
    )


PREDICTION = Prediction(
    name=NAME,
    claim="The transition runs backwards through the network: layers nearer the output contract "
    "and escape first (proposition 4.2).",
    needs=NEEDS,
    rule="supported when escape steps fall with depth (Page's L within runs, one-sided), refuted "
    "when they rise; a layer that has not escaped is right-censored; runs that never memorise, or "
    "generalise as soon as they do, have no transition and are left out",
    references=("arXiv:2603.07323", "page1963", "gehan1965"),
    formulas=("layer_rate", "layer_escape_time"),
    against="runs in which layers nearer the input escape first",
    in_favour="runs in which layers nearer the output escape first",
    judge=judge,
)
