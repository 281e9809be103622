"""Syncs: where the host waits for the GPU, or reads what it could leave there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diagnose.measure.areas.transfers import blocking_htod
from diagnose.measure.areas.user_code import calls_to
from diagnose.measure.ledger import READ_MARKS
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_STEPS, Missing
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, category_matches, once
from diagnose.measure.work import inside
from diagnose.trace.intervals import intersect, union
from diagnose.trace.nesting import nearest

# a check is a few operators and then the read of their result: so many outermost operators are looked back at
READING_OPS = 6
NAN_TEST = r"^aten::(isnan|isinf|isfinite|isposinf|isneginf)$"
SCALER_TEST = r"^aten::_amp_(foreach_)?non_finite_check_and_unscale_$"
NORM = r"^aten::(linalg_vector_norm|linalg_norm|norm|_foreach_norm)$"
SCALAR_READ = r"^aten::(item|_local_scalar_dense|is_nonzero|equal|allclose)$"
# Their results' shapes depend on values, so the host has to know the values to allocate them.
VALUE_SHAPED = (
    r"^aten::(nonzero\w*|argwhere|masked_select|_?unique\w*|repeat_interleave|bincount|one_hot"
    r"|_?nested_\w+|to_padded_tensor)$|^fbgemm::\w*jagged"
)
DOWNLOAD = r"^aten::(copy_|_to_copy|to)$"
SYNCHRONIZE = r"^(cuda|hip)(Device|Stream|Event)Synchronize$"
OWN_WAITS = r"^(DistributedDataParallel\.forward|Optimizer\.)"  # torch's own, for its own needs


@selector(
    "host_reads", "reads of tensor values by the host (`.item()`, `print`, truth values, `.tolist()` …)"
)
def _host_reads(view: Selection) -> Rows:
    reads = view.named(view.marked(*READ_MARKS))
    return reads[~view.in_library_work[reads]]  # Adam reads its own step counters, samplers their seeds


@selector(
    "host_sync",
    "runtime calls in which the host waits for the GPU, without those for copies to the GPU",
    needs="device",
    attributed=lambda view, rows: view.sync_idle(rows),
)
def _host_sync(view: Selection) -> Rows:
    return np.setdiff1d(view.sync_calls, blocking_htod(view))


def _idle_while_printed(view: Selection, rows: Rows) -> Intervals:
    """The prints' own time; with a GPU, the part of it in which the GPU idles and what
    refilling its queue takes afterwards.
    """
    if not view.has_device:
        return view.host_intervals(rows)
    waits = _host_sync(view)
    waits = waits[inside(view, waits, view.is_among(rows))]
    return union(np.concatenate([intersect(view.host_intervals(rows), view.idle), view.sync_idle(waits)]))


@selector(
    "tensor_prints",
    "tensors turned into text (`print`, `str`, f-strings, `repr`)",
    attributed=_idle_while_printed,
)
def _tensor_prints(view: Selection) -> Rows:
    prints = view.named(_is_mark(view, "repr", "format"))
    return prints[~view.in_library_work[prints]]


# ---- what each wait is for


def _is_mark(view: Selection, *kinds: str) -> np.ndarray:
    return view.marked(*kinds)


def _via(view: Selection, pattern: str) -> np.ndarray:
    """Which host events a library makes whose frame matches."""
    if "via" not in view.host:
        return np.zeros(len(view.host), bool)
    return category_matches(view.host["via"].array, pattern)


def _reads_result_of(view: Selection, rows: Rows, pattern: str) -> np.ndarray:
    """Which of these host events follow an operator that matches by a few
    outermost operators of their thread at most.
    """
    if not len(rows):
        return np.zeros(0, bool)
    matching, tid, is_op = view.name_matches(pattern), view.host["tid"].to_numpy(), view.kind == "op"
    parent = view.host["parent"].to_numpy()
    outer = np.flatnonzero(is_op & ~np.append(is_op, False)[parent])  # parent -1: no operator around
    found = np.zeros(len(rows), bool)
    for thread in np.unique(tid[rows]):
        ops, here = outer[tid[outer] == thread], np.flatnonzero(tid[rows] == thread)
        position = np.searchsorted(ops, view.outermost_ops(rows[here]))
        for back in range(1, READING_OPS + 1):
            there = position >= back
            found[here[there]] |= matching[ops[position[there] - back]]
    return found


@once
def _purposes(view: Selection) -> tuple[Rows, dict[str, np.ndarray]]:
    """The waits, and for each purpose which of them have it; every wait has one
    purpose at most, the most specific.
    """
    waits = _host_sync(view)

    def within(flagged: np.ndarray) -> np.ndarray:
        return inside(view, waits, flagged)

    def after(pattern: str) -> np.ndarray:
        return scalar & _reads_result_of(view, waits, pattern)

    in_op = within(view.kind == "op")
    scalar = within(view.name_matches(SCALAR_READ) | _is_mark(view, "item", "bool", "float", "int", "index"))
    synchronizes = view.name_matches(SYNCHRONIZE)[waits] & ~in_op
    clipping = within(_via(view, r"^torch\.nn\.utils\.clip_grad")) | (after(NAN_TEST) & after(NORM))
    tests = {
        "print": within(_is_mark(view, "repr", "format")),
        "library": within(_via(view, r"^(?!torch\.).|^torch\.utils\.tensorboard")),
        "clipping": clipping,
        "scaler": within(_via(view, r"^torch\.(cuda\.)?amp")) | after(SCALER_TEST),
        "nan": after(NAN_TEST),
        "shape": within(view.name_matches(VALUE_SHAPED) | _is_mark(view, "nonzero")),
        "scalar": scalar,
        "download": within(view.name_matches(DOWNLOAD) | _is_mark(view, "cpu", "numpy", "tolist", "to")),
        "explicit": synchronizes & ~within(view.name_matches(OWN_WAITS)) & ~view.in_library_work[waits],
    }
    left, purposes = np.ones(len(waits), bool), {}
    for purpose, test in tests.items():
        purposes[purpose], left = test & left, left & ~test
    return waits, purposes


def _waits_for(purpose: str) -> Callable[[Selection], Rows]:
    def rows(view: Selection) -> Rows:
        waits, purposes = _purposes(view)
        return waits[purposes[purpose]]

    return rows


@metric("shape_sync_operator", "", "Operator with most waits for shapes that depend on values")
def _shape_sync_operator(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    waits, purposes = _purposes(view)
    parent = view.host["parent"].to_numpy()
    around = nearest(view.name_matches(VALUE_SHAPED), parent, waits[purposes["shape"]])
    names = view.host["name"].iloc[around[around >= 0]]
    return str(names.mode().iloc[0]) if len(names) else Missing("no operator waited for a shape")


MEANINGS = {
    "library": "waits for values that a library reads",
    "clipping": "waits for the norm check in `clip_grad_norm_(error_if_nonfinite=True)`",
    "scaler": "waits for the GradScaler's check for infinities",
    "nan": "waits for the result of `isnan`, `isinf` or `isfinite`",
    "shape": "waits for shapes that depend on values (`nonzero`, boolean masks, `unique` …)",
    "scalar": "waits for single values (`.item()`, `float()`, `if tensor`)",
    "download": "waits for whole tensors copied to the host (`.cpu()`, `.numpy()`, `.tolist()`)",
    "explicit": "explicit waits (`torch.cuda.synchronize()`, `event.synchronize()`)",
}
for _purpose, _meaning in MEANINGS.items():
    selector(f"{_purpose}_sync", _meaning, needs="device", attributed=SELECTORS["host_sync"].attributed)(
        _waits_for(_purpose)
    )


def _allocator_time(view: Selection, rows: Rows) -> Intervals:
    """All time of the driver's allocator: what was given back has to be asked for again."""
    return view.ledger.rows.get("allocator", NO_INTERVALS) if len(rows) else NO_INTERVALS


@selector(
    "cache_emptied",
    "calls of `torch.cuda.empty_cache()` and of the driver's allocator",
    table="calls",
    attributed=_allocator_time,
)
def _cache_emptied(view: Selection) -> Rows:
    return calls_to(view, r"^torch/(cuda|accelerator)/memory\.py: empty_cache$")
