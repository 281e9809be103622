"""What the process and the machine counted up to now: read from beside the thread that trains."""

from __future__ import annotations

import os
from time import perf_counter_ns
from typing import Any, NamedTuple

from .. import accelerator
from ..facts.usage import read_counters
from ..memory.memory import heap_reader, resident_bytes


class Counters(NamedTuple):
    """``ran_ns``, ``delayed_ns``: of the thread that trains, on a core and waiting for one. ``processor_s``:
    of all threads; ``busy_s``: of all processors of the machine. None where the system does not tell.
    """

    ns: int
    ran_ns: int | None
    delayed_ns: int | None
    processor_s: float
    busy_s: float | None


class Reader:
    """Of the thread with the system's number ``thread``."""

    def __init__(self, thread: int) -> None:
        self._path = f"/proc/self/task/{thread}/schedstat"
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._heap_in_use = heap_reader()

    def read(self) -> Counters:
        ran_ns, delayed_ns = self._scheduled()
        counted = read_counters()
        busy_s = counted.busy * self._tick_s if counted.busy is not None else None
        return Counters(perf_counter_ns(), ran_ns, delayed_ns, counted.processor_s, busy_s)

    def _scheduled(self) -> tuple[int | None, int | None]:
        try:
            with open(self._path, "rb") as file:
                ran_ns, delayed_ns, _ = map(int, file.read().split())
        except (OSError, ValueError):
            return None, None
        return ran_ns, delayed_ns

    def memory(self) -> dict[str, Any]:
        """Bytes in use now."""
        used = accelerator.devices()
        return {
            "rss_bytes": resident_bytes(),
            "heap_bytes": self._heap_in_use() if self._heap_in_use is not None else None,
            "allocated_bytes": accelerator.allocated_bytes(used[0]) if used else None,
        }


def between(before: Counters, after: Counters, steps: int) -> dict[str, float | None]:
    """Of a window: ms a step of the thread that trains, and cores in use."""
    seconds = (after.ns - before.ns) / 1e9
    cores = (after.processor_s - before.processor_s) / seconds
    busy = _difference(before.busy_s, after.busy_s)
    return {
        "run_ms": _per_step(before.ran_ns, after.ran_ns, steps),
        "delay_ms": _per_step(before.delayed_ns, after.delayed_ns, steps),
        "cores": cores,
        "others_cores": max(0.0, busy / seconds - cores) if busy is not None else None,
    }


def _per_step(before: int | None, after: int | None, steps: int) -> float | None:
    difference = _difference(before, after)
    return difference / 1e6 / steps if difference is not None else None


def _difference(before: float | None, after: float | None) -> float | None:
    return after - before if before is not None and after is not None else None
