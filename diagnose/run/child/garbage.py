"""Python's cyclic garbage collector: how often it ran in the plain phase, and for how long."""

from __future__ import annotations

import contextlib
import gc
from time import perf_counter_ns
from typing import Any

from .guard import guarded

_FULL = 2  # the oldest generation


class Garbage:
    """Counts and times the collections by generation."""

    def begin(self) -> None:
        self._counts = [0, 0, 0]
        self._total_ns = self._longest_ns = self._began_ns = 0
        gc.callbacks.append(self._collecting)

    def stop(self) -> None:
        with contextlib.suppress(ValueError):  # the script may have emptied the list
            gc.callbacks.remove(self._collecting)

    def facts(self, steps: int) -> dict[str, Any]:
        return {
            "gc": {
                "collections_per_step": [count / steps for count in self._counts],
                "ms_per_step": self._total_ns / 1e6 / steps,
                "longest_ms": self._longest_ns / 1e6,
                "frozen_count": gc.get_freeze_count(),
            }
        }

    @guarded("timing garbage collections")
    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began_ns = perf_counter_ns()
        elif self._began_ns:
            took = perf_counter_ns() - self._began_ns
            self._counts[min(info["generation"], _FULL)] += 1
            self._total_ns += took
            self._longest_ns = max(self._longest_ns, took)


def is_full(info: dict[str, int]) -> bool:
    """A collection of all objects, as against young ones."""
    return info.get("generation") == _FULL
