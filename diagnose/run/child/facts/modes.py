"""Where the script switches torch's modes: anomaly detection, threads, deterministic algorithms."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from ..guard import guarded
from ..patching import Patches
from ..places import Place, Places

# the fact's name for each mode, and the function of `torch` that every way to switch it comes down to
_SWITCHES = {
    "anomaly_mode": "set_anomaly_enabled",
    "threads": "set_num_threads",
    "deterministic": "use_deterministic_algorithms",
}


class Modes:
    """Remembers the line that switched each mode last; no line where an environment variable did."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._patches = Patches()
        self._set_at: dict[str, Place] = {}

    def install(self) -> None:
        for mode, function in _SWITCHES.items():
            self._patches.replace(torch, function, self._noticing(mode, getattr(torch, function)))

    def remove(self) -> None:
        self._patches.restore()

    def has_switched(self, mode: str) -> bool:
        """Whether anybody has, in this process."""
        return mode in self._set_at

    def facts(self) -> dict[str, dict[str, Any]]:
        """The place of each mode that the script's own code has switched."""
        return {mode: place._asdict() for mode, place in self._set_at.items() if place.file}

    def _noticing(self, mode: str, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def switch(*args: Any, **kwargs: Any) -> None:
            self._notice(mode, args, sys._getframe(1))
            original(*args, **kwargs)

        return switch

    @guarded("watching where modes are switched")
    def _notice(self, mode: str, args: tuple[Any, ...], frame: FrameType) -> None:
        """What a context switches off again at its end is no news."""
        if mode == "threads" or not args or args[0]:
            self._set_at[mode] = self._places.nearest(frame)
