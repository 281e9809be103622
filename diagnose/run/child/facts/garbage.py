"""Python's cyclic garbage collector: how often it ran in the plain phase, for how long, and who called it."""

from __future__ import annotations

import contextlib
import gc
import linecache
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from ..guard import guarded
from ..inspection import compiler_in_use
from ..places import NOWHERE, Place, Places

_FULL = 2  # the oldest generation
_TOLD_NS = 200_000  # pauses from this on are told one by one, so many at most
_TOLD_AT_MOST = 1000


class CollectorCallback:
    """What the garbage collector calls from `install` to `remove`. That may happen in the midst of a compiled
    function, where the compiler would take it for a part of the script.
    """

    def __init__(self, callback: Callable[[str, dict[str, int]], None]) -> None:
        self._callback = self._installed = callback

    def install(self) -> None:
        self._installed = (
            sys.modules["torch._dynamo"].disable(self._callback) if compiler_in_use() else self._callback
        )
        gc.callbacks.append(self._installed)

    def remove(self) -> None:
        with contextlib.suppress(ValueError):  # it is not installed, or the script has emptied the list
            gc.callbacks.remove(self._installed)


class Garbage:
    """Counts and times the collections by generation, and those that a line of the script's own calls."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._callback = CollectorCallback(self._collecting)

    def begin(self) -> None:
        self._counts = [0, 0, 0]
        self._total_ns = self._longest_ns = self._began_ns = 0
        self._pauses: list[tuple[int, int]] = []  # begin, ns
        self._called: dict[Place, list[int]] = {}  # ns of each, by the line that calls; short ones count too
        self._callback.install()

    def stop(self) -> None:
        self._callback.remove()

    def facts(self, steps: int) -> dict[str, Any]:
        return {
            "gc": {
                "collections_per_step": [count / steps for count in self._counts],
                "ms_per_step": self._total_ns / 1e6 / steps,
                "longest_ms": self._longest_ns / 1e6,
                "pauses": self._pauses,
                "frozen_count": gc.get_freeze_count(),
                "called": [
                    {**place._asdict(), "count": len(each_ns), "ms_per_step": sum(each_ns) / 1e6 / steps}
                    for place, each_ns in self._called.items()
                ],
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
            if took >= _TOLD_NS and len(self._pauses) < _TOLD_AT_MOST:
                self._pauses.append((self._began_ns, took))
            if is_full(info) and (place := self._caller()) != NOWHERE:
                self._called.setdefault(place, []).append(took)

    def _caller(self) -> Place:
        """The script's line whose call collects; a collection may begin by itself in any other."""
        place = self._places.nearest(sys._getframe().f_back)
        calls = "collect(" in linecache.getline(place.file, place.line)
        return place if calls else NOWHERE


def is_full(info: dict[str, int]) -> bool:
    """A collection of all objects, as against young ones."""
    return info.get("generation") == _FULL
