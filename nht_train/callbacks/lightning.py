"""The norm monitor as a Lightning callback."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_info

from nht_train.monitor import DEFAULT_EVERY, NormMonitor, NormReading


class NormMonitorCallback(Callback):
    """Logs the squared norm and the terms of its one-step identity to the module's loggers.

    Args:
        every: optimiser steps between readings.

    Attributes:
        monitor: the :class:`~nht_train.monitor.NormMonitor`, from the start of training on.

    Example:
        >>> import lightning
        >>> trainer = lightning.Trainer(callbacks=[NormMonitorCallback(every=50)], logger=False,
        ...                             enable_checkpointing=False, accelerator="cpu")
    """

    def __init__(self, every: int = DEFAULT_EVERY) -> None:
        self.every = every
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

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Take the hooks off."""
        if self.monitor is not None:
            self.monitor.close()
