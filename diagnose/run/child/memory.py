"""How the memory developed over the plain phase, the process's own and the GPU's."""

from __future__ import annotations

import os
import resource
from typing import Any

import torch

_SAMPLES_AT_MOST = 200
_PAGE = resource.getpagesize()


class Memory:
    """One sample a step; of a long phase every second, fourth, … step, so that there are never more than a few hundred."""

    def begin(self) -> None:
        self._resident: list[int] = []
        self._allocated: list[int] = []
        self._steps, self._stride = 0, 1
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._device = torch.cuda.current_device() if torch.cuda.is_initialized() else None
        self._before = self._statistics()

    def step(self) -> None:
        self._steps += 1
        if self._steps % self._stride:
            return
        self._resident.append(int(os.pread(self._statm, 128, 0).split()[1]) * _PAGE)
        if self._device is not None:
            self._allocated.append(_allocated(self._device))
        if len(self._resident) > _SAMPLES_AT_MOST:
            self._stride *= 2
            del self._resident[::2], self._allocated[::2]

    def stop(self) -> None:
        os.close(self._statm)

    def facts(self, steps: int) -> dict[str, Any]:
        return {
            "rss_series_bytes": self._resident,
            "allocated_series_bytes": self._allocated or None,
            "cuda_memory": self._cuda_memory(steps),
        }

    def _statistics(self) -> dict[str, Any]:
        return torch.cuda.memory_stats(self._device) if self._device is not None else {}

    def _cuda_memory(self, steps: int) -> dict[str, Any] | None:
        before, after = self._before, self._statistics()
        if self._device is None or not after:
            return None

        def per_step(name: str) -> float:
            return (after.get(name, 0) - before.get(name, 0)) / steps

        return {
            "peak_allocated_bytes": after["allocated_bytes.all.peak"],
            "peak_reserved_bytes": after["reserved_bytes.all.peak"],
            "capacity_bytes": torch.cuda.get_device_properties(self._device).total_memory,
            "retries_per_step": per_step("num_alloc_retries"),
            "segment_allocations_per_step": per_step("segment.all.allocated"),
            "out_of_memory_count": after.get("num_ooms", 0),
        }


def _allocated(device: int) -> int:
    """`torch.cuda.memory_allocated` without flattening some hundred other numbers."""
    return int(torch._C._cuda_memoryStats(device)["allocated_bytes"]["all"]["current"])
