"""What was left on from looking for faults."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..foreign import ForeignProfilers
from .base import Intervention, Sites


class AnomalyModeOff(Intervention):
    """Whatever switches anomaly mode on does nothing."""

    idle = "Nothing switched anomaly mode on there."

    def install(self) -> None:
        # set_detect_anomaly and detect_anomaly, as a function or as a context, come down to this
        self.patches.replace(torch, "set_anomaly_enabled", self._keeping_off(torch.set_anomaly_enabled))

    def _keeping_off(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def set_anomaly_enabled(enabled: bool, *args: Any, **kwargs: Any) -> None:
            if enabled and self.sites.include(sys._getframe(1)):
                self.count += 1
                enabled = False
            original(enabled, *args, **kwargs)

        return set_anomaly_enabled


class OwnProfilerOff(Intervention):
    """The script's own profilers record nothing, wherever they are started."""

    idle = "The script started no profiler of torch's."

    def __init__(self, sites: Sites) -> None:
        super().__init__(sites)
        self._profilers = ForeignProfilers(contextlib.nullcontext)
        self._profilers.ours_records = True

    @property
    def held(self) -> int:
        return self._profilers.silenced

    def install(self) -> None:
        self._profilers.install()

    def remove(self) -> None:
        self._profilers.remove()
