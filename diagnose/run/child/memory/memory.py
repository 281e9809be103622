"""How the memory developed over the plain phase, the process's own and the GPU's."""

from __future__ import annotations

import math
import os
import resource
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from .. import accelerator
from ..descriptors import close_ours, open_ours
from .heap import malloc_info

_SAMPLES_AT_MOST = 200
_COST_SHARE = 100  # looking takes no more than one part in this many of the time
_LOOKS_FIRST = 3  # that only tell what a look costs
_PAGE = resource.getpagesize()
# the C library counts free blocks one by one: in a heap with very many that takes too long
_HEAP_NS_AT_MOST = 50_000
_HEAP_TRIES = 3  # one may be interrupted
_HEAP_BYTES_AT_LEAST = 1_000_000  # less means that another allocator serves torch


class Memory:
    """A look after each step, after fewer of them where looking would take more than a hundredth
    of the time, and at most 200 in all.
    """

    def begin(self) -> None:
        self._steps: list[int] = []  # how many had ended at each look
        self._resident: list[int] = []
        self._heap: list[int] = []
        self._allocated: list[int] = []
        self._faults: list[int] = []  # of the process so far
        self._system_s: list[float] = []
        self._stride = 1  # steps from one look to the next, at least
        self._next_ns = 0
        self._statm = open_ours("/proc/self/statm", os.O_RDONLY)
        used = accelerator.devices()
        self._device = used[0] if used and accelerator.memory_statistics(used[0]) else None
        self._heap_in_use = heap_reader() if self._device is None else None
        self._before = self._statistics()
        self._cost_ns = min(self._cost_of_looking() for _ in range(_LOOKS_FIRST))

    def _cost_of_looking(self) -> int:
        begin = perf_counter_ns()
        self._look(0)
        cost = perf_counter_ns() - begin
        for series in self._all_series():
            series.clear()
        return cost

    def _all_series(self) -> tuple[list[Any], ...]:
        return self._steps, self._resident, self._heap, self._allocated, self._faults, self._system_s

    def step(self, number: int, now_ns: int) -> None:
        """That many steps have ended; `now_ns` is the host's clock."""
        if now_ns < self._next_ns or (self._steps and number < self._steps[-1] + self._stride):
            return
        begin = perf_counter_ns()
        self._look(number)
        before, self._cost_ns = self._cost_ns, perf_counter_ns() - begin
        # one of the two may have been interrupted
        self._next_ns = now_ns + _COST_SHARE * min(before, self._cost_ns)

    def _look(self, number: int) -> None:
        self._steps.append(number)
        self._resident.append(int(os.pread(self._statm, 128, 0).split()[1]) * _PAGE)
        if self._heap_in_use is not None:
            self._heap.append(self._heap_in_use())
        if self._device is not None:
            self._allocated.append(accelerator.allocated_bytes(self._device))
        used = resource.getrusage(resource.RUSAGE_SELF)
        self._faults.append(used.ru_minflt)
        self._system_s.append(used.ru_stime)
        if len(self._steps) > _SAMPLES_AT_MOST:
            self._stride = 2 * math.ceil(number / len(self._steps))
            for series in self._all_series():
                del series[::2]

    def stop(self) -> None:
        close_ours(self._statm)

    def facts(self, steps: int) -> dict[str, Any]:
        return {
            "memory_series_steps": self._steps,
            "rss_series_bytes": self._resident,
            "heap_series_bytes": self._heap or None,
            "allocated_series_bytes": self._allocated or None,
            "page_fault_series": self._faults,
            "system_series_s": self._system_s,
            "cuda_memory": self._cuda_memory(steps),
        }

    def _statistics(self) -> dict[str, Any]:
        return accelerator.memory_statistics(self._device) if self._device is not None else {}

    def _cuda_memory(self, steps: int) -> dict[str, Any] | None:
        before, after = self._before, self._statistics()
        if self._device is None or not after:
            return None

        def per_step(name: str) -> float | None:
            return (after[name] - before.get(name, 0)) / steps if name in after else None

        return {
            "peak_allocated_bytes": after.get("allocated_bytes.all.peak"),
            "peak_reserved_bytes": after.get("reserved_bytes.all.peak"),
            "capacity_bytes": getattr(accelerator.properties(self._device), "total_memory", None),
            "retries_per_step": per_step("num_alloc_retries"),
            "segment_allocations_per_step": per_step("segment.all.allocated"),
            "out_of_memory_count": after.get("num_ooms"),
        }


def resident_bytes() -> int:
    """Of this process. Raises OSError."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


def peak_resident_bytes() -> int:
    """The most there was of this program. Raises OSError.

    `getrusage` also counts what its process was before it began, a copy of the one that started it.
    """
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    except (FileNotFoundError, StopIteration):  # not on Linux
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def heap_reader() -> Callable[[], int] | None:
    """Reads the bytes in use on the C heap, where CPU tensors live; None where the C
    library cannot tell, or not quickly.

    Resident memory does not tell growth: it keeps blocks that were freed.
    """
    info = malloc_info()
    if info is None:
        return None

    def in_use() -> int:
        now = info()
        return int(now.uordblks + now.hblkhd)

    if in_use() < _HEAP_BYTES_AT_LEAST:
        return None
    for _ in range(_HEAP_TRIES):
        begin = perf_counter_ns()
        in_use()
        if perf_counter_ns() - begin <= _HEAP_NS_AT_MOST:
            return in_use
    return None
