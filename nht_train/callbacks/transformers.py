"""The norm monitor as a callback of the Transformers Trainer."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer
from transformers import TrainerCallback

from nht_theory.runs import columns
from nht_train.live_forecast import Forecast, ForecastLog
from nht_train.monitor import DEFAULT_EVERY, NormMonitor, NormReading


class NormMonitorCallback(TrainerCallback):
    """Adds the squared norm and the terms of its one-step identity to the log history.

    The entries stand in ``trainer_state.json`` beside the Trainer's own, which ``nht validate``
    reads.

    Args:
        every: optimiser steps between readings.
        forecast: what to log at each evaluation, from the log history so far
            (``nht_theory.forecasting.live.live_forecast`` makes one).

    Attributes:
        monitor: the :class:`~nht_train.monitor.NormMonitor`, from the start of training on.

    Example:
        >>> callback = NormMonitorCallback(every=50)  # Trainer(..., callbacks=[callback])
    """

    def __init__(self, every: int = DEFAULT_EVERY, forecast: Forecast | None = None) -> None:
        self.every = every
        self.forecasts = ForecastLog(forecast)
        self.monitor: NormMonitor | None = None
        self._logged: NormReading | None = None

    def on_train_begin(
        self, args: Any, state: Any, control: Any, *, model: Any, optimizer: Any, **_: Any
    ) -> None:
        """Attach to the optimiser that the Trainer made."""
        self.monitor = NormMonitor(model, _innermost(optimizer), every=self.every)
        self.monitor.step = state.global_step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Log a reading that is new."""
        monitor = self.monitor
        if monitor is None or monitor.latest is None or monitor.latest is self._logged:
            return
        self._logged = monitor.latest
        state.log_history.append({columns.STEP: state.global_step, **monitor.latest.values})

    def on_evaluate(self, args: Any, state: Any, control: Any, *, metrics: Any, **_: Any) -> None:
        """Log a forecast from this evaluation and what was logged at its step."""
        if self.forecasts.forecast is None or self.monitor is None:
            return
        step = int(state.global_step)
        here = [entry for entry in state.log_history if entry.get(columns.STEP) == step]
        logged = {name: value for entry in (*here, metrics) for name, value in entry.items()}
        row = {name: float(value) for name, value in logged.items() if _is_number(value)}
        told = self.forecasts.add({**row, **self.monitor.norms(), columns.STEP: step})
        if told:
            state.log_history.append({columns.STEP: step, **told})

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Take the hooks off."""
        if self.monitor is not None:
            self.monitor.close()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _innermost(optimizer: Any) -> Optimizer:
    """The torch optimiser inside the wrappers of accelerate, whose ``step`` it calls."""
    while isinstance(getattr(optimizer, "optimizer", None), Optimizer):
        optimizer = optimizer.optimizer
    return optimizer
