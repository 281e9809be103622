"""First calls: what a process does once, when it first needs a kernel, a library or the GPU.

A kernel's first launch loads its code; a library's first call creates its handle and tries algorithms; the
driver's first call sets the device up. None of that comes back in later steps.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.view import Intervals, Rows, View, once
from diagnose.trace.columns import among
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import as_intervals, subtract, union

LAUNCH_CALL = r"^(cu|cuda|hip)(?!\w*Graph)\w*Launch"
COPY_CALL = r"^(cu|cuda|hip)Memcpy"
WAITING_CALL = r"Synchronize$|MemcpyWithStream|EventWait|StreamWaitEvent|QueueFinish"
GRAPH_CALL = r"Graph"
LOADING = (
    r"^(Lazy Function Loading|Runtime Triggered Module Loading)"
    r"|^(cuModuleLoad|cuLibraryLoad|hipModuleLoad|cudaLibraryLoad)"
)
# A launch takes some 10 µs. One that takes this long while the GPU idles is loading the kernel first.
LOADING_LAUNCH_NS = 500_000
# Any other call or operator, from which it may be a first one: allocating and creating take a millisecond.
LONG_NS = 10_000_000
FAR_LONGER = 20  # times the median of the same calls later


@once
def first_calls(view: View) -> tuple[Rows, Intervals]:
    """Host rows of the first calls, and their own time in int64 ns; both empty without a GPU.

    A launch counts if it takes 0.5 ms and is the first of its kernel. Another runtime call counts if it takes
    10 ms, is the first of its name in an operator of this name, and takes 20 times as long as the later ones.
    An operator counts likewise, by its own time. Loading a module counts always.
    """
    if not view.has_device:
        return np.empty(0, np.int64), np.empty((0, 2), np.int64)
    calls = distinct(np.flatnonzero(view.name_matches(LOADING)), _runtime_calls(view))
    start, dur = view.host["start_ns"].to_numpy(), view.host["dur_ns"].to_numpy()
    operators = _operators(view)
    own = [subtract(as_intervals(start[[row]], dur[[row]]), _inside(view, row)) for row in operators.tolist()]
    return distinct(calls, operators), union(np.concatenate([as_intervals(start[calls], dur[calls]), *own]))


def _runtime_calls(view: View) -> Rows:
    dur = view.host["dur_ns"].to_numpy()
    runtime = view.kind == "runtime"
    launches = runtime & view.name_matches(LAUNCH_CALL)
    others = runtime & ~view.name_matches(f"{LAUNCH_CALL}|{COPY_CALL}|{WAITING_CALL}|{GRAPH_CALL}|{LOADING}")
    long_launches = np.flatnonzero(launches & (dur >= LOADING_LAUNCH_NS))
    loading = long_launches[_first_of_kernel(view)[long_launches]] if len(long_launches) else long_launches
    if not (others & (dur >= LONG_NS)).any():
        return loading
    name = view.host["name"].cat.codes.to_numpy().astype(np.int64)
    around = np.append(name, -1)[view.host["parent"].to_numpy()]
    rows = np.flatnonzero(others)
    return distinct(loading, _far_longer(rows, dur[rows], np.stack([name, around], axis=1)[rows]))


def _first_of_kernel(view: View) -> np.ndarray:
    """Which host events are the first to launch a kernel of this name, or launch what was not recorded."""
    launch = view.device["launch"].to_numpy()
    linked = np.flatnonzero((launch >= 0) & (view.device["kind"] == "kernel").to_numpy())
    by_launch = linked[np.argsort(launch[linked], kind="stable")]
    again = pd.Series(view.device["name"].cat.codes.to_numpy()[by_launch]).duplicated().to_numpy()
    first = np.ones(len(view.host), bool)
    first[launch[by_launch[again]]] = False
    first[launch[by_launch[~again]]] = True
    return first


def _operators(view: View) -> Rows:
    """Operators outside the loader whose own time is that of a first call."""
    is_op = view.kind == "op"
    dur = view.host["dur_ns"].to_numpy()
    rows = np.flatnonzero(is_op)
    name = view.host["name"].cat.codes.to_numpy().astype(np.int64)
    long = np.isin(name, distinct(name[np.flatnonzero(is_op & (dur >= LONG_NS))]))
    rows = rows[long[rows]]
    # The runtime calls and operators in it are not its own time.
    inside = np.zeros(len(view.host), np.int64)
    parent = view.host["parent"].to_numpy()
    children = np.flatnonzero((is_op | (view.kind == "runtime")) & (parent >= 0))
    np.add.at(inside, parent[children], dur[children])
    found = _far_longer(rows, (dur - inside)[rows], name[rows, None], repeats=True)
    return found[~np.isin(found, np.flatnonzero(view.loader_next))]


def _far_longer(rows: Rows, took_ns: np.ndarray, key: np.ndarray, *, repeats: bool = False) -> Rows:
    """The first row of each key that takes far longer than the later ones; ``repeats``: only where there are
    any.
    """
    found = []
    _, group = np.unique(key, axis=0, return_inverse=True)
    group = group.reshape(-1)
    for one in np.unique(group[took_ns >= LONG_NS]).tolist():
        same = np.flatnonzero(group == one)
        first, later = same[0], took_ns[same[1:]]
        far_longer = took_ns[first] >= FAR_LONGER * np.median(later) if len(later) else not repeats
        if took_ns[first] >= LONG_NS and far_longer:
            found.append(int(rows[first]))
    return np.array(found, dtype=np.int64)


def _inside(view: View, row: int) -> Intervals:
    """The operators and runtime calls in an operator."""
    host = view.host
    below = (host["parent"] == row).to_numpy() & among(view.kind, ("op", "runtime"))
    return union(as_intervals(host["start_ns"].to_numpy()[below], host["dur_ns"].to_numpy()[below]))
