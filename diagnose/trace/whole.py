"""The whole recording as one step: what of it is the program's."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import among

BLOCKING_CALL = re.compile(r"^(cuda|hip|cu)\w*(Synchronize|Memcpy)")
# of the recording, from which a wait at its beginning is left out and mentioned: less is no matter
LONG_WAIT = 0.05
# of the time left out, in that call; and of the call, without GPU work: a copy has its own at the end
MOSTLY = 0.9
# events without anything before or behind them for most of the recording, and as few of all, are stray
HOLE, FEW = 0.9, 0.01


def whole_recording(host: pd.DataFrame, device: pd.DataFrame) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """From the first to the last op, runtime call, annotation, mark or GPU event, shape (1, 2), and notes.
    Python frames and the profiler's own work do not count.

    A recording that begins while the GPU works on what was launched before it may begin with a wait for that:
    this is left out.
    """
    rows = host[among(host["kind"].array, ("op", "runtime", "annotation", "mark"))]
    begin = np.concatenate((rows["start_ns"], device["start_ns"]))
    if not len(begin):
        return np.zeros((1, 2), dtype=np.int64), ()
    end = np.concatenate((rows["start_ns"] + rows["dur_ns"], device["start_ns"] + device["dur_ns"]))
    first, last = int(begin.min()), int(end.max())
    if stray := _stray(host, begin, end):
        return np.array([[stray.first_ns, stray.last_ns]], dtype=np.int64), (stray.note,)
    waited_until, call = _first_wait(rows, device, first)
    if waited_until - first < LONG_WAIT * (last - first) or waited_until >= last:
        return np.array([[first, last]], dtype=np.int64), ()
    left_out_ms = (waited_until - first) / 1e6
    note = (
        f"Left out: the first {left_out_ms:,.0f} ms. The host waited in `{call}` while the GPU ran hardly "
        "anything that was recorded: for work launched before the recording, or for the GPU to start up."
    )
    return np.array([[waited_until, last]], dtype=np.int64), (note,)


class _Others(NamedTuple):
    """The recording without a few events that are far from all others."""

    first_ns: int
    last_ns: int
    note: str


def _stray(host: pd.DataFrame, begin: NDArray[np.int64], end: NDArray[np.int64]) -> _Others | None:
    """None where no events are so far away. Python frames fill a hole: then the program was at work."""
    python = host[among(host["kind"].array, ("python", "overhead"))]
    starts = np.concatenate((begin, python["start_ns"]))
    by_start = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(np.concatenate((end, python["start_ns"] + python["dur_ns"]))[by_start])
    holes = starts[by_start][1:] - reached[:-1]
    if not len(holes) or holes.max() <= HOLE * (reached[-1] - starts[by_start[0]]):
        return None
    since_ns = int(reached[int(np.argmax(holes))])
    early = begin < since_ns
    few = early if early.sum() < (~early).sum() else ~early
    if not 0 < few.sum() < FEW * len(few):
        return None
    note = (
        f"Left out: {few.sum():,} event{'s' * int(few.sum() != 1)}, {holes.max() / 1e9:,.1f} s away from all "
        "others. Their times may be wrong."
    )
    return _Others(int(begin[~few].min()), int(end[~few].max()), note)


def _first_wait(rows: pd.DataFrame, device: pd.DataFrame, first_ns: int) -> tuple[int, str]:
    """The end of the blocking call with which the recording begins, if the GPU runs hardly anything
    meanwhile, and its name; the recording's start if it begins otherwise.
    """
    if not len(device):
        return first_ns, ""
    start, end = rows["start_ns"].to_numpy(), (rows["start_ns"] + rows["dur_ns"]).to_numpy()
    blocking = np.flatnonzero(_named(rows, BLOCKING_CALL))
    longest = blocking[np.argsort(start[blocking] - end[blocking], kind="stable")[:1]]
    for row in longest.tolist():
        begins_with_it = end[row] - start[row] >= MOSTLY * (end[row] - first_ns)
        if begins_with_it and _busy_ns(device, start[row], end[row]) <= (1 - MOSTLY) * (
            end[row] - start[row]
        ):
            return int(end[row]), str(rows["name"].iat[row])
    return first_ns, ""


def _busy_ns(device: pd.DataFrame, since_ns: int, until_ns: int) -> int:
    """The GPUs' time of all events between two moments, those at the same time added up."""
    start = device["start_ns"].to_numpy()
    inside = np.minimum(start + device["dur_ns"].to_numpy(), until_ns) - np.maximum(start, since_ns)
    return int(np.maximum(inside, 0).sum())


def _named(rows: pd.DataFrame, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Which rows are runtime calls with such a name (tested once per distinct name)."""
    names = rows["name"].cat
    matching = np.array([bool(pattern.match(str(name))) for name in names.categories] + [False], dtype=bool)
    return np.asarray(matching[names.codes.to_numpy()] & (rows["kind"] == "runtime").to_numpy())
