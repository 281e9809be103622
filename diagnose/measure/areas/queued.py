"""Work that the idle GPU did not run although it was launched, and what speaks for which cause."""

from __future__ import annotations

import numpy as np

from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import Missing
from diagnose.measure.queued import late_starts
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.view import NO_ROWS, Rows
from diagnose.trace.intervals import intersect, total

HOST_FUNCTION = r"^(cuda|hip)(LaunchHostFunc|StreamAddCallback)|^cu(LaunchHostFunc|StreamAddCallback)"
MOSTLY = 0.5  # of the time, from which a cause is named
# Time slices are holes of nearly one length: so many within so much of their median, by time.
MIN_HOLES, ALIKE = 5, 0.1
UNKNOWN = "The recording does not show what held the GPU up."


@selector(
    "queued", "launched work that the idle GPU did not run", table="device", attributed=ledger_row("queued")
)
def queued(view: Selection) -> Rows:
    if not view.has_device:
        return NO_ROWS
    late = late_starts(view)
    here = view.device["device"].to_numpy()[late.rows] == view.devices[0]
    return late.rows[here & ~late.in_doubt & view.device_in_steps[late.rows]]


@metric("queued_cause", "", "What speaks for a cause of the GPU's idle time with work queued")
def _queued_cause(measured: Measured) -> Value | Missing:
    measured.needed("queued_ms")
    view, others = measured.timeline, measured.number("other_gpu_process_count")
    assert view is not None
    if others > 0:
        return f"`nvidia-smi` showed {others:,.0f} other programs on this GPU during the steps."
    return _of_another_gpu(view) or _of_slices(view) or _of_host_functions(view) or UNKNOWN


def _of_another_gpu(view: Selection) -> str:
    elsewhere = np.flatnonzero((view.device["device"] != view.devices[0]).to_numpy())
    waits = view.ledger.rows["queued"]
    meanwhile = total(intersect(waits, view.device_intervals(elsewhere)))
    if meanwhile < MOSTLY * total(waits) or not meanwhile:
        return ""
    return "Another GPU of this process was working meanwhile: this one may have waited for it."


def _of_slices(view: Selection) -> str:
    gaps = view.idle
    start = view.device["start_ns"].to_numpy()[queued(view)]
    ends = np.isin(gaps[:, 1], start)
    lengths = np.sort(gaps[ends, 1] - gaps[ends, 0])
    if len(lengths) < MIN_HOLES:
        return ""
    median = lengths[np.searchsorted(np.cumsum(lengths), lengths.sum() / 2)]
    alike = lengths[np.abs(lengths - median) <= ALIKE * median]
    if len(alike) < MIN_HOLES or alike.sum() < MOSTLY * lengths.sum():
        return ""
    return (
        f"{len(alike):,} holes take about {median / 1e6:.2g} ms each: that is what time slices look like, in "
        "which processes have the GPU in turns."
    )


def _of_host_functions(view: Selection) -> str:
    if not len(view.named(view.name_matches(HOST_FUNCTION))):
        return ""
    return "Streams may wait for functions on the host (`cudaLaunchHostFunc`)."
