"""How much of its GPU's memory a rank fills: by the allocator's own count, else
by what the profiler recorded of it.
"""

from __future__ import annotations

from typing import Any

from diagnose.measure.recording import Recording


def gpu_memory(recording: Recording) -> dict[str, int | None]:
    """``peak_memory_bytes``: what tensors fill at the worst moment; ``memory_bytes``: what the GPU
    has. Each None where nothing tells.

    The run's facts know the worst moment since the process began; a trace with memory events
    (``profile_memory``) that of its own steps.
    """
    of_run = recording.facts.get("cuda_memory")
    told = of_run if isinstance(of_run, dict) else {}
    device, peak = _of_trace(recording)
    return {
        "peak_memory_bytes": _count(told.get("peak_allocated_bytes")) or peak,
        "memory_bytes": _count(told.get("capacity_bytes")) or _capacity(recording, device),
    }


def _of_trace(recording: Recording) -> tuple[int | None, int | None]:
    """The GPU that is filled most, and how much; None where no memory was recorded.

    Without, the GPU that works.
    """
    if recording.timeline is None:
        return None, None
    memory = recording.timeline.memory
    filled = memory[(memory["device"] >= 0) & (memory["allocated_bytes"] > 0)]
    if len(filled):
        most = int(filled["allocated_bytes"].to_numpy().argmax())
        return int(filled["device"].iloc[most]), int(filled["allocated_bytes"].iloc[most])
    used = recording.timeline.device["device"].mode()
    return (int(used.iloc[0]) if len(used) else None), None


def _capacity(recording: Recording, device: int | None) -> int | None:
    """``totalGlobalMem`` of that GPU, as the trace tells."""
    properties = recording.timeline.info.get("deviceProperties") if recording.timeline is not None else None
    told = [one for one in properties if isinstance(one, dict)] if isinstance(properties, list) else []
    return next((_count(one.get("totalGlobalMem")) for one in told if one.get("id") == device), None)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
