"""All that is asked of an accelerator. Nothing here puts one to use: until the script has done so,
only what starts no driver is asked.

CUDA and ROCm are asked through `torch.cuda`; XPU, MPS and others through `torch.accelerator`, where
torch has it. Its names are the same.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity

OutOfMemory: type[BaseException] = torch.cuda.OutOfMemoryError
# of what torch's profiler sees the work
_ACTIVITIES = {"cuda": "CUDA", "xpu": "XPU", "mtia": "MTIA", "hpu": "HPU"}
_PEAK = "allocated_bytes.all.peak"


# ---- before the script uses one


def kind_in_use() -> str:
    """`cuda` (also for ROCm), `xpu`, `mps` … once the script has put one to use; empty before."""
    if torch.cuda.is_initialized():
        return "cuda"
    kind = _other_kind()
    module = getattr(torch, kind, None) if kind else None
    initialized = getattr(module, "is_initialized", None) or getattr(
        torch._C, "_accelerator_isAllocatorInitialized", None
    )
    return kind if kind and initialized is not None and initialized() else ""


def gpu_count() -> int | None:
    """GPUs that torch sees and its profiler can record; None where telling would start their driver."""
    if kind_in_use() == "cuda" or not torch.backends.cuda.is_built():
        return _other_count() or int(torch.cuda.device_count())
    peek = getattr(torch.cuda, "_device_count_amdsmi" if torch.version.hip else "_device_count_nvml", None)
    if peek is not None and peek() >= 0:
        return int(torch.cuda.device_count())
    # `device_count` would ask the driver itself, and forked children could not use CUDA any more.
    return None if _has_driver() else 0


def _has_driver() -> bool:
    """Whether the machine could have a GPU that CUDA or ROCm can use."""
    if torch.version.hip:
        return os.path.exists("/dev/kfd")
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _other_kind() -> str:
    """What torch was built for, if it is another accelerator than CUDA; some
    versions start CUDA to answer that.
    """
    if torch.backends.cuda.is_built() or not hasattr(torch, "accelerator"):
        return ""
    found = torch.accelerator.current_accelerator()
    return str(found.type) if found is not None else ""


def _other_count() -> int:
    return int(torch.accelerator.device_count()) if _other_kind() in _ACTIVITIES else 0


# ---- the devices in use


def devices() -> list[torch.device]:
    """Those that hold memory of the script's, the one that held most first; the current one where
    that cannot be told; none before use.
    """
    peak = {device: peak_bytes(device) for device in _all_devices()}
    filled = sorted((device for device in peak if peak[device]), key=lambda device: -peak[device])
    kind = kind_in_use()
    return filled or ([torch.device(kind, _current_index(kind))] if kind else [])


def _all_devices() -> list[torch.device]:
    """Of the kind in use."""
    kind = kind_in_use()
    return [torch.device(kind, index) for index in range(int(_calls(kind).device_count()))] if kind else []


def name(device: torch.device) -> str:
    """As reports write it: `cuda:0`, `xpu:1`, `mps`, `cpu`."""
    return (
        device.type
        if device.type in ("cpu", "mps") or device.index is None
        else f"{device.type}:{device.index}"
    )


def synchronize(wanted: bool = True) -> None:
    """At phase borders only: what the devices still have to do belongs to the phase that enqueued it.

    Never inside a graph capture.
    """
    if wanted and not is_capturing():
        for device in devices():
            _calls(device.type).synchronize(device)


def is_capturing() -> bool:
    """Whether this thread records a CUDA graph, when most calls fail and take the capture with them."""
    try:
        return torch.cuda.is_initialized() and bool(torch.cuda.is_current_stream_capturing())
    except RuntimeError:  # a build that has no graphs
        return False


def graph_classes() -> list[type]:
    """Those whose `replay` runs a captured graph."""
    classes = [
        getattr(module, name, None)
        for module, name in ((torch.cuda, "CUDAGraph"), (getattr(torch, "xpu", None), "XPUGraph"))
    ]
    return [found for found in classes if isinstance(found, type) and hasattr(found, "replay")]


def timing_event(device: torch.device) -> Any:
    return (
        torch.cuda.Event(enable_timing=True)
        if device.type == "cuda"
        else torch.Event(device, enable_timing=True)
    )


def current_stream(device: torch.device) -> Any:
    return _calls(device.type).current_stream(device)


# ---- what they are and hold


def properties(device: torch.device) -> Any:
    """With `name` and `total_memory`, on CUDA also `major` and `minor`; None where torch does not tell."""
    read = getattr(getattr(torch, device.type, None), "get_device_properties", None)
    return read(device) if read is not None else None


def memory_statistics(device: torch.device) -> dict[str, Any]:
    """The allocator's own, under the names of `torch.cuda.memory_stats`; empty where it keeps none."""
    try:
        return dict(_calls(device.type).memory_stats(device))
    except (AttributeError, RuntimeError):
        return {}


def peak_bytes(device: torch.device) -> int:
    return int(memory_statistics(device).get(_PEAK, 0))


def allocated_bytes(device: torch.device) -> int:
    """Now; on CUDA without flattening some hundred other numbers."""
    if device.type == "cuda":
        return int(torch._C._cuda_memoryStats(device.index)["allocated_bytes"]["all"]["current"])
    return int(memory_statistics(device)["allocated_bytes.all.current"])


def peaks(statistic: str) -> int | None:
    """The most of all devices in use; None before use, or where no allocator tells."""
    return max(_peaks(statistic), default=None)


def _peaks(statistic: str) -> Iterator[int]:
    for device in devices():
        statistics = memory_statistics(device)
        if statistic in statistics:
            yield int(statistics[statistic])


def out_of_memory_count() -> int | None:
    """How often a device had no memory left; None before use."""
    found = _all_devices()
    return sum(int(memory_statistics(device).get("num_ooms", 0)) for device in found) if found else None


def sync_debug_mode() -> int | None:
    return torch.cuda.get_sync_debug_mode() if torch.cuda.is_initialized() else None


def facts(parameters_on: Iterable[torch.device]) -> dict[str, Any]:
    """Of facts.json. `parameters_on`: where models and optimizers have theirs.

    The bytes are the most that were allocated.
    """
    used = devices()
    return {
        "initialized": bool(used),
        "allocated_bytes": sum(known) if (known := list(_peaks(_PEAK))) or not used else None,
        "devices": [name(device) for device in used],
        "parameters_on": sorted({name(device) for device in parameters_on}),
    }


def _calls(kind: str) -> Any:
    return torch.cuda if kind == "cuda" else torch.accelerator


def _current_index(kind: str) -> int:
    return int(torch.cuda.current_device() if kind == "cuda" else torch.accelerator.current_device_index())


# ---- the profiler


class Activities:
    """What all profiler sessions of a recording ask for, decided when the first one is made.

    If the first session of a process asks for the CPU only, torch 2.13 records no work of a
    device in any later one (pytorch#186036).
    """

    def __init__(self, *, device: bool) -> None:
        """`device`: whether one may be recorded."""
        self.device = device
        self._decided: tuple[ProfilerActivity, ...] | None = None

    def decided(self) -> list[ProfilerActivity]:
        if self._decided is None:
            self._decided = (ProfilerActivity.CPU, *self._of_device())
        return list(self._decided)

    @property
    def has_device(self) -> bool:
        """Whether the sessions ask for the work of one."""
        return self._decided is not None and len(self._decided) > 1

    @property
    def in_use(self) -> bool:
        """Whether the script has put one to use whose work can be recorded."""
        return self.device and kind_in_use() in _ACTIVITIES

    def come_late(self, *, trained: bool) -> bool:
        """Whether sessions are to wait until plain steps have been timed: what records a GPU stays attached
        to it and slows what follows (pytorch#146604). Where one is there that is not used yet, the script may
        still come to it, for what ticks before something was `trained` is often a model tried out on the CPU.
        """
        return self.in_use or (self.device and not trained and gpu_count() != 0)

    def _of_device(self) -> list[ProfilerActivity]:
        kind = kind_in_use() if self.device else ""
        if kind not in _ACTIVITIES:
            return []
        return [
            supported_activity
            for supported_activity in torch.profiler.supported_activities()
            if supported_activity.name == _ACTIVITIES[kind]
        ]
