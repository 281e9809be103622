"""Kernels in another number format: what is left of their time by the roofline of the GPU that ran them."""

from __future__ import annotations

import numpy as np

from diagnose.measure.kernel_names import REDUCED_PRECISION_KERNEL
from diagnose.measure.selection import Selection
from diagnose.measure.view import Rows, category_matches
from diagnose.predict.flops import FLOATING, Work, convolution_outputs, input_and_weight, work_of
from diagnose.predict.roofline import Peaks, peaks_of, retimed_ns, roofline_ns
from diagnose.trace.distinct import distinct


def gpu_peaks(view: Selection) -> Peaks | None:
    """The limits of the busiest GPU; None without one, or if its name or its peaks are not known."""
    for device in (view.trace.info.get("deviceProperties") or []) if len(view.devices) else []:
        if (
            isinstance(device, dict)
            and device.get("id", 0) == view.devices[0]
            and isinstance(device.get("name"), str)
        ):
            return peaks_of(device["name"])
    return None


def left_by_roofline(view: Selection, rows: Rows, formats: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """For each device row what is left of its time at best and at worst; nan where the GPU's
    peaks or the row's work are not known.

    ``formats``: what is computed in now (a kernel named after TF32 is taken to use it) and then.
    """
    best, worst = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    peaks = gpu_peaks(view)
    if peaks is None:
        return best, worst
    op, dur = view.device["op"].to_numpy()[rows], view.device["dur_ns"].to_numpy()[rows]
    order = np.argsort(op, kind="stable")
    reduced = category_matches(view.device["name"].array, REDUCED_PRECISION_KERNEL)[rows]
    calls, first = np.unique(op[order], return_index=True)
    works = works_of(view, calls)
    for call, mine in zip(calls.tolist(), np.split(order, first[1:]), strict=True):
        work = works.get(call)
        now = "tf32" if formats[0] == "fp32" and reduced[mine].any() else formats[0]
        taken_ns = float(dur[mine].sum())
        retimed = retimed_ns(taken_ns, work, peaks, now, formats[1]) if work is not None else None
        if retimed is not None:
            best[mine], worst[mine] = retimed[0] / taken_ns, min(1.0, retimed[1] / taken_ns)
    return best, worst


def roofline_shares(view: Selection, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """For each device row the share of the roofline that its operator's kernels reach together, 0–1, and
    the format that they compute in; nan and empty where peaks or work are not known.
    """
    shares, formats = np.full(len(rows), np.nan), np.full(len(rows), "", object)
    peaks = gpu_peaks(view)
    op, dur = (view.device[column].to_numpy() for column in ("op", "dur_ns"))
    wanted = distinct(op[rows])
    works = works_of(view, wanted)
    together = np.flatnonzero(np.isin(op, list(works)))
    reduced = category_matches(view.device["name"].array, REDUCED_PRECISION_KERNEL)
    taken_ns = np.bincount(op[together], dur[together], len(view.host))
    is_reduced = np.bincount(op[together], reduced[together], len(view.host)) > 0
    for at, call in enumerate(op[rows].tolist()):
        if call in works:
            formats[at] = format_of(works[call], bool(is_reduced[call]))
            least_ns = roofline_ns(works[call], peaks, formats[at]) if peaks else None
            if least_ns is not None and taken_ns[call] > 0:
                shares[at] = min(1.0, least_ns / taken_ns[call])
    return shares, formats


def works_of(view: Selection, calls: Rows) -> dict[int, Work]:
    """The work of each of these operators (host rows; -1 is none) of which it is known."""
    shapes, dtypes = (view.host[column].array for column in ("shapes", "dtypes"))
    backward = np.flatnonzero(view.name_matches(r"^aten::\w*convolution_backward$"))
    outputs = convolution_outputs((str(view.name[row]), str(shapes[row])) for row in backward)
    works: dict[tuple[str, ...], Work | None] = {}
    known = {}
    calls = calls[calls >= 0]
    texts = [np.asarray(column[calls]).tolist() for column in (view.name, shapes, dtypes)]
    for call, name, given, types in zip(calls.tolist(), *texts, strict=True):
        kind = name, given, types
        if kind not in works:
            works[kind] = work_of(*kind, outputs.get(input_and_weight(given)))
        if (work := works[kind]) is not None:
            known[call] = work
    return known


def format_of(work: Work, is_reduced: bool) -> str:
    """What most of the numbers are stored in; a kernel that is named after TF32 computes in it."""
    stored = max(
        (one for one in work.traffic if one in FLOATING), key=lambda one: work.traffic[one], default="fp32"
    )
    return "tf32" if stored == "fp32" and is_reduced else stored
