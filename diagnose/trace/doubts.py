"""What a recording evidently leaves out or shows askew, as notes for the report."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from diagnose.trace.notes import GPU_UNRECORDED, HOST_AHEAD, Note

# Enqueues work that runs on the device and must show there. Graph captures record launches without
# work, but the work beside them shows.
ENQUEUES = re.compile(r"^(cu|cuda|hip)\w*(Launch|Memcpy|Memset)\w*")
# From here on the steps' own times mislead; below, the backlog is what any healthy loop has.
AHEAD = 1.2


def doubts(host: pd.DataFrame, device: pd.DataFrame, steps: pd.DataFrame) -> tuple[Note, ...]:
    """Notes on GPU work that was launched and not recorded, and on a host so far ahead of
    the GPU that its steps are too short.
    """
    said = {GPU_UNRECORDED: _unrecorded(host, device), HOST_AHEAD: _ahead(host, device, steps)}
    return tuple(Note(code, text) for code, text in said.items() if text)


def _unrecorded(host: pd.DataFrame, device: pd.DataFrame) -> str:
    if len(device):
        return ""
    names = host["name"].cat
    enqueues = np.array([bool(ENQUEUES.match(str(name))) for name in names.categories] + [False], dtype=bool)
    count = int((enqueues[names.codes.to_numpy()] & (host["kind"] == "runtime").to_numpy()).sum())
    if not count:
        return ""
    return (
        f"GPU activity was not recorded: the trace holds {count:,} calls that give work to a GPU and "
        "no event "
        "of a GPU. "
        "All times are the host's. Record with ProfilerActivity.CUDA, and with no other GPU profiler running."
    )


def _ahead(host: pd.DataFrame, device: pd.DataFrame, steps: pd.DataFrame) -> str:
    """The GPU time of what the complete steps launch, where it is much longer than these steps."""
    complete = steps[steps["complete"].to_numpy()]
    launched = np.flatnonzero(device["launch"].to_numpy() >= 0)
    if len(complete) < 2 or not len(launched):
        return ""
    asked = host["start_ns"].to_numpy()[device["launch"].to_numpy()[launched]]
    begin, end = int(complete["start_ns"].min()), int(complete["end_ns"].max())
    rows = launched[(asked >= begin) & (asked < end)]
    if not len(rows):
        return ""
    start = device["start_ns"].to_numpy()[rows]
    step_ms = float((complete["end_ns"] - complete["start_ns"]).mean()) / 1e6
    device_ms = float((start + device["dur_ns"].to_numpy()[rows]).max() - start.min()) / len(complete) / 1e6
    if device_ms < AHEAD * step_ms:
        return ""
    return (
        f"The host runs ahead of the GPU: it leaves each of these steps after {step_ms:.3g} ms, and the GPU "
        f"takes {device_ms:.3g} ms for "
        f"what it launched there. So a step really takes about {device_ms:.3g} ms, and the GPU sets "
        "its pace, "
        "not the host. The times, "
        f"shares and gains here are of the {step_ms:.3g} ms alone, {100 * step_ms / device_ms:.0f} % of a "
        "step: do not take them for those "
        "of a whole one. Record more steps, until the host has to wait."
    )
