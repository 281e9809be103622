"""Steps on the clock of a GPU.

Where the host runs ahead, its steps end long before the GPU is done with what was launched in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from diagnose.trace.schema import Trace
from diagnose.trace.steps import MARKED_BY_HOST

Rows = np.ndarray
Intervals = np.ndarray  # int64 ns, shape (n, 2)

FULL_QUEUE = 900  # CUDA takes some 1,024 launches ahead; then a launch waits until an earlier one has run
# GPU's time for a step ÷ the host's, from which steps are cut where the GPU is: a last event's latency
# is less
LATENCY = 1.01
# … and from which a report says that the host runs ahead: less is what noise makes of equal paces
HOST_AHEAD = 1.05


def device_windows(trace: Trace) -> Intervals:
    """The complete steps, ns: on the GPU where the host runs ahead of it, else on the host.

    A step is over when both the host and the GPU are through with all that was launched in it and before.
    """
    on_host = trace.complete_steps
    if trace.step_source not in MARKED_BY_HOST or not len(trace.device) or not len(on_host):
        return on_host
    on_device = np.maximum(on_host, _done_ns(trace, on_host))
    return on_device if _length(on_device) > LATENCY * _length(on_host) else on_host


def done_ns(phase: dict[str, Any]) -> np.ndarray:
    """When both the host and the GPUs were through with what came before each
    tick of a phase, ns after its first.

    A host that runs ahead of a GPU ticks long before that. Without a GPU, or where its times were
    not recorded, the host's time counts.
    """
    tick_ns = np.asarray(phase["tick_ns"], np.int64)
    return np.maximum.reduce([tick_ns - tick_ns[:1], *_on_devices(phase)])


def _on_devices(phase: dict[str, Any]) -> list[np.ndarray]:
    """When each GPU was through with what came before each tick, ns after the first; none where
    that was not recorded of every tick.
    """
    recorded = (phase.get("device_tick_ns") or {}).values()
    return [
        np.asarray(ns, np.int64) for ns in recorded if len(ns) == len(phase["tick_ns"]) and None not in ns
    ]


def host_ahead(phase: dict[str, Any], launches_per_tick: float) -> bool:
    """Whether the host ran ahead of a GPU in a phase: its lead grew from tick to tick, or the queue was full.

    False where the GPU's times were not recorded.
    """
    host_ns = np.asarray(phase["tick_ns"], np.int64)
    return len(host_ns) > 1 and any(
        _runs_ahead(host_ns - host_ns[0], ns, launches_per_tick) for ns in _on_devices(phase)
    )


def _runs_ahead(host_ns: np.ndarray, device_ns: np.ndarray, launches_per_tick: float) -> bool:
    lead_ns, third = device_ns - host_ns, max(1, len(host_ns) // 3)
    early, late = slice(1, 1 + third), slice(-third, None)  # at the first tick the queue was empty
    grown_ns, took_ns = (np.median(of[late]) - np.median(of[early]) for of in (lead_ns, host_ns))
    waiting = np.median(lead_ns[late]) / max(1, device_ns[-1]) * (len(device_ns) - 1) * launches_per_tick
    return bool(grown_ns > (LATENCY - 1) * took_ns or waiting >= FULL_QUEUE)


def _length(windows: Intervals) -> int:
    return int((windows[:, 1] - windows[:, 0]).sum())


def _done_ns(trace: Trace, moments: np.ndarray) -> np.ndarray:
    """When the busiest device has done what was launched before each of these moments
    of the host; 0 where that is nothing.
    """
    device = trace.device[(trace.device["device"] == busiest_first(trace.device)[0]).to_numpy()]
    launched_ns = np.append(trace.host["start_ns"].to_numpy(), -1)[inherited_launches(device)]
    by_launch = np.argsort(launched_ns, kind="stable")
    end_ns = (device["start_ns"] + device["dur_ns"]).to_numpy()[by_launch]
    done_ns = np.append(0, np.maximum.accumulate(end_ns))
    return np.asarray(done_ns[np.searchsorted(launched_ns[by_launch], moments)])


def busiest_first(device: pd.DataFrame) -> list[int]:
    """Ordinals of the devices that did anything."""
    busy = device.groupby("device")["dur_ns"].sum().sort_values(ascending=False)
    return [int(ordinal) for ordinal in busy.index]


def gpus_listed(trace: Trace) -> list[dict[str, Any]]:
    """As the head of the file has them, the one that worked most first."""
    worked = busiest_first(trace.device)[:1]
    return sorted(trace.info.get("deviceProperties") or [], key=lambda gpu: gpu.get("id") not in worked)


def inherited_launches(device: pd.DataFrame) -> Rows:
    """Host row of the call that launched each event; -1 for what was launched before the recording.

    Kernels of a graph, and those whose launch was not recorded, came with or after
    the one before them on their stream.
    """
    launch, stream = device["launch"].to_numpy().astype(np.int64), streams(device)
    order = np.lexsort((device["start_ns"].to_numpy(), stream))
    opens = np.diff(stream[order], prepend=-1) != 0
    known = np.where((launch[order] >= 0) | opens, np.arange(len(order)), 0)
    filled = np.empty_like(launch)
    filled[order] = launch[order][np.maximum.accumulate(known)]
    return filled


def streams(device: pd.DataFrame) -> np.ndarray:
    """The stream each event runs on, numbered over all devices."""
    ordinal, stream = (
        np.unique(device[column].to_numpy(), return_inverse=True)[1] for column in ("device", "stream")
    )
    return np.unique(ordinal * (stream.max(initial=0) + 1) + stream, return_inverse=True)[1]
