"""Where in the plane of settings each regime lies: seen, and drawn before training."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nht_theory.claims import selection, shortcut_strength
from nht_theory.conventions import OptimizerKind, Regime
from nht_theory.dynamics import OptimizerDynamics
from nht_theory.estimators.results import Missing, StudyEstimates
from nht_theory.forecasting.from_hyperparameters import predict_transition
from nht_theory.reporting.marks import (
    INK,
    Axis,
    Cells,
    Figure,
    Line,
    Mark,
    Numbers,
    Panel,
    Points,
    Undrawn,
)
from nht_theory.runs import columns
from nht_theory.runs.run import Run

LOOKS = {
    Regime.WEAK: (4, "square", "weak: the norm holds or grows"),
    Regime.INTERMEDIATE: (0, "circle", "intermediate: the norm falls after memorising"),
    Regime.STRONG: (1, "diamond", "strong: norm and learning suppressed"),
    Regime.UNKNOWN: (INK, "cross", "not told"),
}


def regime_map(estimated: StudyEstimates) -> Figure | Undrawn:
    """Regime of every run over weight decay and learning rate, with the a-priori boundaries."""
    name, title = "regimes", "Regimes over weight decay and learning rate"
    placed = [
        (run, own, decay, rate)
        for run, own in estimated.pairs()
        if (decay := run.hyperparameters.weight_decay) is not None
        and (rate := run.hyperparameters.learning_rate) is not None
        and rate > 0
    ]
    positive = [item for item in placed if item[2] > 0]
    if not positive:
        return Undrawn(
            name, title, "needs runs with a known learning rate and weight decay above 0"
        )
    marks: list[Mark] = []
    for regime, (colour, symbol, legend) in LOOKS.items():
        chosen = [item for item in positive if item[1].regime is regime]
        if chosen:
            x, y = (np.array([item[place] for item in chosen]) for place in (2, 3))
            # Runs of one configuration lie on one spot: spread them a little.
            spread = 1 + 0.012 * _ranks(list(zip(x, y, strict=True)))
            keys = tuple(run.name for run, *_ in chosen)
            marks.append(Points(keys, x * spread, y, colour=colour, symbol=symbol, legend=legend))
    boundaries, said = _boundaries(estimated, [rate for *_, rate in positive])
    marks += boundaries
    undecayed = len(placed) - len(positive)
    caption = f"Each mark is a run, by the regime of its own norm. {said}" + (
        f" Not shown: {undecayed} runs without weight decay." if undecayed else ""
    )
    panel = Panel(Axis("weight decay λ", log=True), Axis("learning rate η", log=True), tuple(marks))
    return Figure(name, title, caption, (panel,))


def _ranks(places: list[tuple[float, float]]) -> Numbers:
    """0, 1, -1, 2, -2 ... for the repeats of a place."""
    seen: Counter[tuple[float, float]] = Counter()
    ranks = []
    for place in places:
        count = seen[place]
        seen[place] += 1
        ranks.append((count + 1) // 2 * (1 if count % 2 else -1))
    return np.array(ranks, dtype=np.float64)


def _boundaries(estimated: StudyEstimates, rates: list[float]) -> tuple[list[Mark], str]:
    """Edges of the regimes for the study's typical norms, budget and size, and what they are."""
    delayed = [
        (above.value, star.value)
        for _, own in selection.delayed(estimated)
        if not isinstance(above := own.squared_norm_memorization, Missing)
        and not isinstance(star := own.squared_norm_generalization, Missing)
        and above.value > star.value
    ]
    if not delayed:
        return [], "No boundary can be drawn: no run shows both V at memorisation and V_star."
    shortcut, structured = (float(np.median(values)) for values in zip(*delayed, strict=True))
    lengths = [int(run.steps[-1]) for run in estimated.study.runs if len(run)]
    budget = int(np.median(lengths))
    counts = [run.hyperparameters.parameter_count for run in estimated.study.runs]
    known = [count for count in counts if count]
    grid = np.geomspace(min(rates) / 1.5, max(rates) * 1.5, 12)
    edges: dict[str, list[float]] = {"weak": [], "blocked": [], "strong": []}
    for rate in grid:
        made = predict_transition(
            OptimizerDynamics(OptimizerKind.ADAMW, float(rate), 1e-3 / float(rate)),
            squared_norm_shortcut=shortcut,
            squared_norm_structured=structured,
            total_steps=budget,
            parameter_count=int(np.median(known)) if known else None,
        )
        for edge, values in edges.items():
            value = getattr(made.boundaries, edge)
            values.append(np.nan if value is None else value)
    legends = {
        "weak": ("dashed", f"left of it: weak within {budget:,} steps"),
        "blocked": ("dotted", "left of it: blocked by pure gradient noise"),
        "strong": ("dashdot", "right of it: memorising impossible"),
    }
    marks: list[Mark] = [
        Line(edge, np.array(values), grid, INK, *legends[edge])
        for edge, values in edges.items()
        if np.isfinite(values).any()
    ]
    return marks, (
        f"Lines: a-priori boundaries under decoupled decay for V_sc {shortcut:,.0f} and V_star "
        f"{structured:,.0f} (medians of this study), {budget:,} steps"
        + (f" and {int(np.median(known)):,} parameters." if known else ".")
    )


def phase_diagram(estimated: StudyEstimates) -> Figure | Undrawn:
    """Held-out (clean) accuracy at the end over weight decay and strength of the shortcut."""
    name, title = "phases", "Clean accuracy over weight decay and shortcut strength"
    found: dict[tuple[float, float], list[float]] = {}
    for run, _ in estimated.pairs():
        strength = selection.number(run, *shortcut_strength.SETTINGS)
        decay, final = run.hyperparameters.weight_decay, _final_accuracy(run)
        if strength is not None and decay is not None and final is not None:
            found.setdefault((decay, strength), []).append(final)
    decays = sorted({decay for decay, _ in found})
    strengths = sorted({strength for _, strength in found})
    if len(decays) < 2 or len(strengths) < 2:
        return Undrawn(
            name,
            title,
            "needs two or more weight decays and two or more strengths of the shortcut",
        )
    values = np.full((len(strengths), len(decays)), np.nan)
    texts = {}
    for (decay, strength), accuracies in found.items():
        place = strengths.index(strength), decays.index(decay)
        values[place] = float(np.mean(accuracies))
        texts[place] = f"{values[place]:.2f}"
    caption = (
        "Mean over seeds of the held-out accuracy at the last evaluation. Empty cells were not "
        "trained. The paper expects a ridge at intermediate weight decay."
    )
    panel = Panel(
        Axis("weight decay λ", categories=tuple(f"{decay:g}" for decay in decays)),
        Axis("shortcut strength ρ", categories=tuple(f"{s:g}" for s in strengths)),
        (Cells(values, texts),),
    )
    return Figure(name, title, caption, (panel,))


def _final_accuracy(run: Run) -> float | None:
    return selection.last_value(run, columns.HELDOUT_ACCURACY)
