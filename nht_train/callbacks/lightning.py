"""The norm monitor as a Lightning callback."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_info

from nht_theory.runs import columns
from nht_train.live_forecast import Forecast, ForecastLog
from nht_train.monitor import DEFAULT_EVERY, NormMonitor, NormReading


class NormMonitorCallback(Callback):
    """Logs the squared norm and the terms of its one-step identity to the module's loggers.

    Args:
        every: optimiser steps between readings.
        forecast: what to log at the end of each validation, from the metrics logged so far
            (``nht_theory.forecasting.live.live_forecast`` makes one).

    Attributes:
        monitor: the :class:`~nht_train.monitor.NormMonitor`, from the start of training on.

    Example:
        >>> import lightning
        >>> trainer = lightning.Trainer(callbacks=[NormMonitorCallback(every=50)], logger=False,
        ...                             enable_checkpointing=False, accelerator="cpu")
    """

    def __init__(self, every: int = DEFAULT_EVERY, forecast: Forecast | None = None) -> None:
        self.every = every
        self.forecasts = ForecastLog(forecast)
        self.monitor: NormMonitor | None = None
        self._logged: NormReading | None = None
        self._warned = False

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Attach to the optimisers that Lightning made."""
        self.monitor = NormMonitor(pl_module, trainer.optimizers, every=self.every)
        self.monitor.step = trainer.global_step

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        """Log a reading that is new."""
        monitor = self.monitor
        if monitor is None or monitor.latest is None or monitor.latest is self._logged:
            return
        self._logged = monitor.latest
        pl_module.log_dict(dict(monitor.latest.values))
        if monitor.head_warning is not None and not self._warned:
            self._warned = True
            rank_zero_info(f"{monitor.head_warning}")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Log a forecast from what this validation and the training steps before it showed."""
        if self.forecasts.forecast is None or self.monitor is None or trainer.sanity_checking:
            return
        shown = {name: float(value) for name, value in trainer.callback_metrics.items()}
        step = int(trainer.global_step)
        told = self.forecasts.add({**shown, **self.monitor.norms(), columns.STEP: step})
        for logger in trainer.loggers if told else ():
            logger.log_metrics(told, step=step)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Take the hooks off."""
        if self.monitor is not None:
            self.monitor.close()
