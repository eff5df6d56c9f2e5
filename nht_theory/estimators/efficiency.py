"""c = gamma_V / (2 eta lambda): how much of the optimiser's pure decay a run achieves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nht_theory.conventions import DecayForm, ScheduleKind
from nht_theory.dynamics.momentum import momentum_rate_at, nesterov_rate_at
from nht_theory.errors import DomainError
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.results import Estimate, Interval, Missing, Unavailable
from nht_theory.runs import columns
from nht_theory.runs.run import Hyperparameters, Run


def eta_lambda(run: Run, window: Window) -> float | Missing:
    """Mean of learning_rate times weight_decay over a window, from the log or the settings.

    The logged columns are used where they exist; the settings only where the schedule is
    constant or unnamed.

    Returns:
        eta lambda per step; Missing where one of the two is unknown, zero, or follows a schedule
        that the log does not record.
    """
    settings = run.hyperparameters
    inside = (run.steps >= window.first_step) & (run.steps <= window.last_step)
    factors: list[float | np.ndarray] = []
    for column, setting in (
        (columns.LEARNING_RATE, settings.learning_rate),
        (columns.WEIGHT_DECAY, settings.weight_decay),
    ):
        if run.has(column):
            factors.append(run.column(column)[inside])
        elif setting is None:
            return Missing(Unavailable.NO_DECAY_RATE, f"{column} is not known")
        elif column == columns.LEARNING_RATE and settings.schedule not in (
            None,
            ScheduleKind.CONSTANT,
        ):
            return Missing(
                Unavailable.NO_DECAY_RATE,
                f"schedule {settings.schedule} without a {column} column",
            )
        else:
            factors.append(float(setting))
    product = float(np.nanmean(factors[0] * factors[1]))
    if not product > 0:
        return Missing(Unavailable.NO_DECAY_RATE, "eta lambda is zero: nothing decays")
    return product


def decay_form(run: Run) -> DecayForm | Missing:
    """How the run's weight decay enters its update, or why that is not known."""
    return decay_form_of(run.hyperparameters)


def decay_form_of(settings: Hyperparameters) -> DecayForm | Missing:
    """:func:`decay_form` from the settings alone."""
    if settings.decay_form is not None:
        return settings.decay_form
    if settings.optimizer in ("adamw", "lion", "muon"):
        return DecayForm.DECOUPLED
    return Missing(
        Unavailable.NO_DECAY_RATE,
        f"how {settings.optimizer or 'an unnamed optimiser'} applies weight decay is not known",
    )


def pure_decay_rate(run: Run, window: Window) -> float | Missing:
    """gamma_V with zero loss gradient: 2 eta lambda to first order, or 4 under the L2 penalty.

    Coupled decay has no single rate under an adaptive optimiser (THEORY.md section 2); with
    plain SGD it equals the decoupled form. SGD's momentum, dampening and Nesterov change it: then
    it is the exact rate of a settled buffer at the window's mean eta lambda
    (:mod:`nht_theory.dynamics.momentum`), about 2 (1 - d) eta w/(1 - mu). ``dampening`` and
    ``nesterov`` are read from the settings' ``extra``; where absent they are PyTorch's defaults.

    Source: THEORY.md section 2; formulas momentum_rate, nesterov_rate.
    """
    settings = run.hyperparameters
    form, product = decay_form(run), eta_lambda(run, window)
    if isinstance(form, Missing):
        return form
    if isinstance(product, Missing):
        return product
    if settings.optimizer != "adamw" and "muon_lr" in settings.extra:
        return Missing(
            Unavailable.NO_DECAY_RATE,
            "two learning rates (learning_rate and muon_lr) act on one norm",
        )
    if form is DecayForm.COUPLED and settings.optimizer != "sgd":
        return Missing(
            Unavailable.NO_DECAY_RATE, f"{settings.optimizer} couples decay to its preconditioner"
        )
    factor = 4.0 if form is DecayForm.L2_PENALTY else 2.0
    if form is DecayForm.DECOUPLED or not (settings.momentum and settings.optimizer == "sgd"):
        return factor * product
    return _momentum_rate(settings, factor / 2.0 * product)


def _momentum_rate(settings: Hyperparameters, decay_per_step: float) -> float | Missing:
    """The exact rate of SGD with momentum at eta w per step, or why there is none."""
    dampening, nesterov = (_stated(settings, name) for name in ("dampening", "nesterov"))
    if dampening is None or nesterov is None:
        return Missing(Unavailable.NO_DECAY_RATE, "dampening or nesterov is stated as no number")
    if nesterov and dampening:
        return Missing(Unavailable.NO_DECAY_RATE, "Nesterov's momentum allows no dampening")
    momentum = float(settings.momentum or 0.0)
    try:
        if nesterov:
            return float(nesterov_rate_at(decay_per_step, momentum))
        return float(momentum_rate_at(decay_per_step, momentum, dampening))
    except DomainError as error:
        return Missing(Unavailable.NO_DECAY_RATE, error.problem)


_TRUTHS = {"true": 1.0, "false": 0.0}


def _stated(settings: Hyperparameters, name: str) -> float | None:
    """A setting of ``extra`` as a number, at any depth; 0 where it is not stated, None if unread.

    ``optimizer.nesterov`` states ``nesterov``.
    """
    for path, value in settings.extra.items():
        if path.rpartition(".")[2] != name:
            continue
        text = str(value).lower()
        try:
            return _TRUTHS[text] if text in _TRUTHS else float(text)
        except ValueError:
            return None
    return 0.0


def efficiency(run: Run, window: Window | Missing, rate: Estimate | Missing) -> Estimate | Missing:
    """c = gamma_V over the pure-decay rate, dimensionless, with the rate's interval.

    1 means that the norm falls as under decay alone, less that the loss resists. The companion's
    "amplification" of 1.41 is gamma_V / (eta lambda), so c = 0.70.

    Source: THEORY.md section 1.
    """
    if isinstance(rate, Missing):
        return rate
    if isinstance(window, Missing):
        return window
    pure = pure_decay_rate(run, window)
    if isinstance(pure, Missing):
        return pure
    interval = rate.interval
    return replace(
        rate,
        value=rate.value / pure,
        unit="1",
        method=f"{rate.method}; over the pure-decay rate {pure:.6g} a step",
        interval=None
        if interval is None
        else Interval(
            interval.low / pure, interval.high / pure, interval.coverage, interval.method
        ),
        standard_error=None if rate.standard_error is None else rate.standard_error / pure,
    )
