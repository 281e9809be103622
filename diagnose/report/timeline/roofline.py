"""The GPU's roofline, and where its longest kernels lie below it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.kernel_names import REDUCED_PRECISION_KERNEL
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.sources import Sources
from diagnose.measure.view import category_matches
from diagnose.predict.flops import Work
from diagnose.predict.retiming import format_of, gpu_peaks, works_of
from diagnose.trace.cleaning import clean
from diagnose.trace.distinct import distinct

MOST_KERNELS = 30
LONGEST_NAME = 200  # characters


def roofline(measured: Measured, sources: Sources) -> dict[str, Any] | None:
    """The picture's ``roofline``; None where the GPU's peaks are not known, or of no kernel what it computes.

    A kernel here is an operator with the same input shapes, under the name of its longest kernel. Its FLOP
    are those of the operator's plain formula, its bytes the least that it can move
    (`diagnose.predict.flops`): it may move more, and then does less FLOP a byte.
    """
    view = measured.timeline
    peaks = gpu_peaks(view) if view is not None and view.has_device else None
    if view is None or peaks is None:
        return None
    kernels = _kernels(view, sources)
    if not kernels:
        return None
    return {
        "gpu": clean(_gpu_name(view), LONGEST_NAME),
        "bandwidth_bytes_per_s": peaks.bandwidth_bytes_per_s,
        "peaks": dict(peaks.flops_per_s),
        "source": peaks.source,
        "kernels": kernels,
    }


def _gpu_name(view: Selection) -> str:
    return next(
        str(device["name"])
        for device in view.trace.info["deviceProperties"]
        if device.get("id", 0) == view.devices[0]
    )


def _kernels(view: Selection, sources: Sources) -> list[dict[str, Any]]:
    """Those that take longest in a step and compute something."""
    device = view.device
    on_busiest = (device["device"] == view.devices[0]) & (device["kind"] == "kernel") & (device["op"] >= 0)
    rows = np.flatnonzero(np.asarray(on_busiest) & view.device_in_steps)
    call, dur = device["op"].to_numpy()[rows], device["dur_ns"].to_numpy()[rows]
    works = works_of(view, distinct(call))
    texts = (view.name, view.host["shapes"].array, view.host["dtypes"].array)
    kinds = pd.DataFrame(
        {"row": rows, "call": call, "dur": dur} | {str(at): text.codes[call] for at, text in enumerate(texts)}
    )
    points = []
    for _, group in kinds.groupby(["0", "1", "2"], sort=False):
        work = works.get(int(group["call"].iloc[0]))
        if work is not None and work.flop and work.moved_bytes:
            points.append((int(group["dur"].sum()), work, group))
    points.sort(key=lambda point: -point[0])
    return [_point(view, sources, *point) for point in points[:MOST_KERNELS] if point[0] > 0]


def _point(view: Selection, sources: Sources, ns: int, work: Work, group: pd.DataFrame) -> dict[str, Any]:
    names = view.device["name"].array
    longest = int(group["row"].iloc[int(group["dur"].argmax())])
    host = view.host.iloc[int(group["call"].iloc[0])]
    reduced = category_matches(names[group["row"].to_numpy()], REDUCED_PRECISION_KERNEL).any()
    return {
        "name": clean(str(names[longest]), LONGEST_NAME),
        "format": format_of(work, bool(reduced)),
        "flop_per_byte": work.flop / work.moved_bytes,
        "flop_per_s": work.flop * group["call"].nunique() / ns * 1e9,
        "ms_per_step": ns / 1e6 / view.step_count,
        "place": f"{clean(sources.shown(str(host['file'])), LONGEST_NAME)}:{host['line']}"
        if host["line"] >= 0
        else None,
    }
