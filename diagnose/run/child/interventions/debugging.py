"""What was left in the script from looking for faults, or for memory."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..recording.other_profilers import OtherProfilers
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


class EmptyCacheOff(Intervention):
    """`torch.cuda.empty_cache()` leaves torch's memory with it."""

    idle = "Nothing called torch.cuda.empty_cache there."

    def install(self) -> None:
        self.patches.replace(torch.cuda, "empty_cache", self._passing_over(torch.cuda.empty_cache))

    def _passing_over(self, original: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(original)
        def empty_cache() -> None:
            if not self.sites.include(sys._getframe(1)):
                return original()
            self.count += 1

        return empty_cache


class OwnProfilerOff(Intervention):
    """The script's own profilers record nothing, wherever they are started."""

    idle = "The script started no profiler of torch's."

    def __init__(self, sites: Sites) -> None:
        super().__init__(sites)
        self._profilers = OtherProfilers(contextlib.nullcontext)
        self._profilers.ours_records = True

    @property
    def held(self) -> int:
        return self._profilers.silenced

    def install(self) -> None:
        self._profilers.install()

    def remove(self) -> None:
        self._profilers.remove()
