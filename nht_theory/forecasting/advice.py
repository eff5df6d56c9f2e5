"""A forecast of a run with what to do about it: go on or stop, and whether more decay helps."""

from __future__ import annotations

from dataclasses import dataclass

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.forecasting.calibration import observe, observe_all
from nht_theory.forecasting.calibration_set import earlier_runs
from nht_theory.forecasting.comparable import comparable
from nht_theory.forecasting.decay_advice import DecayAdvice, advise_decay
from nht_theory.forecasting.early_stop import StopAdvice, stop_advice
from nht_theory.forecasting.forecast import Forecast
from nht_theory.forecasting.forecast_run import forecast_known
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

STRONGER = 3.0
"""The stronger decay that is considered, as a multiple of the run's own."""
FIRST_DECAY = 0.1
"""The decay considered for a run that has none."""


@dataclass(frozen=True)
class AdviceRecord:
    """How often such advice was right on the public studies (companion, porth, muon), each run or
    pair from other configurations: the sums of ``validation/forecasting/scores.json``.

    Attributes:
        switched, wrongly_stopped: runs that did switch; of these, ever told to stop before.
        unswitched, stopped: runs that had not switched when their log ends; of these, told to.
        decay_pairs, decay_hits: pairs of weight decays advised on; of these, rightly.
        decay_always_yes: hits of the answer that stronger decay always helps.
    """

    switched: int
    wrongly_stopped: int
    unswitched: int
    stopped: int
    decay_pairs: int
    decay_hits: int
    decay_always_yes: int


PUBLIC_RECORD = AdviceRecord(
    switched=166,
    wrongly_stopped=2,
    unswitched=32,
    stopped=2,
    decay_pairs=18,
    decay_hits=15,
    decay_always_yes=13,
)


@dataclass(frozen=True)
class RunAdvice:
    """A forecast and the advice that goes with it.

    Attributes:
        forecast: when the run will generalise.
        stop: whether to go on; None before memorisation and where nothing can be said.
        decay: whether stronger decay is expected to help; None where the run's own is unknown.
        record: how often such advice was right.
    """

    forecast: Forecast
    stop: StopAdvice | None
    decay: DecayAdvice | None
    record: AdviceRecord = PUBLIC_RECORD


def advise_run(
    run: Run,
    calibration: Study,
    *,
    at: int | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> RunAdvice:
    """Forecast a run and advise on it, from what is known at the moment of the forecast.

    Args:
        run: a run, still training or not.
        calibration: earlier runs.
        at: as in :func:`forecast_known`.
        thresholds: what counts as memorised and as generalised.

    No advice is given where the earlier runs do not say which of them share a configuration.
    """
    made = forecast_known(run, calibration, at=at, thresholds=thresholds)
    if not calibration.configurations.known:
        return RunAdvice(made, None, None)
    target = observe(run.until(made.made_at), thresholds)
    known = observe_all(calibration.runs, thresholds)
    alike = tuple(comparable(known, target))
    decay = run.hyperparameters.weight_decay
    return RunAdvice(
        made,
        stop_advice(target, earlier_runs(alike, target.stated)),
        None
        if decay is None
        else advise_decay([target], STRONGER * decay or FIRST_DECAY, alike, thresholds),
    )
