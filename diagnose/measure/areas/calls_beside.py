"""The calls of the script's own lines that are no part of a step, and what they take beside the model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.areas.parameter_loops import parameter_loops
from diagnose.measure.areas.user_code import CALLS, STEP_MARKS, calls_to
from diagnose.measure.autograd import operators_with_backward
from diagnose.measure.loops import loop_time
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows, once, started_in
from diagnose.trace.intervals import covered_before, subtract, total, union
from diagnose.trace.nesting import innermost

# of the ledger, in which a line beside the model can spend time: on the training thread, or while a GPU
# idles; in the forward only hooks of the script's own can
ROWS = ("python", "operators", "copies", "launch_bound", "host_work", "forward")
# a part of the step by its nature: other rules are about it
OF_A_PART = r"^torch/(optim|amp|nn/utils/clip_grad)\b"


def cost_ms_of_calls(measured: Measured, view: Selection) -> np.ndarray:
    """Of each call of the script's lines: ms of the plain step that its time beside the model is."""
    start = view.calls["start_ns"].to_numpy()
    end = start + view.calls["dur_ns"].to_numpy()
    cost_ms = np.zeros(len(view.calls))
    for row in ROWS:
        whole, own = total(view.ledger.rows.get(row, NO_INTERVALS)), time_beside(measured, view, row)
        if whole and len(own):
            inside = covered_before(own, end) - covered_before(own, start)
            cost_ms += inside / whole * measured.row_ms(row)
    return cost_ms


def time_beside(measured: Measured, view: Selection, row: str) -> Intervals:
    """A row of the ledger without what a mark, a more specific rule or the training itself explains."""
    explained = subtract(_explained(view), view.clipped(view.calls, _of_hooks(measured, view)))
    return subtract(view.ledger.rows.get(row, NO_INTERVALS), explained)


def _of_hooks(measured: Measured, view: Selection) -> Rows:
    """The calls of functions of the script's that its models call as forward hooks."""
    file, number = view.calls["file"].astype(str).to_numpy(), view.calls["line"].to_numpy()
    inside = np.zeros(len(view.calls), bool)
    for hook in measured.recording.facts.get("module_hooks") or []:
        inside |= (file == hook["file"]) & (number >= hook["line"]) & (number <= hook["last_line"])
    return np.flatnonzero(inside & view.calls_in_steps)


@once
def _explained(view: Selection) -> Intervals:
    marks = (view.kind == "mark") & ~view.marked("tick", "subscript") & view.on_training_thread
    trained = view.outermost_ops(operators_with_backward(view))
    calls = view.clipped(view.calls, calls_to(view, of_other_rules()))
    loops = loop_time(view, parameter_loops(view))
    return union(
        np.concatenate(
            [view.host_intervals(np.flatnonzero(marks)), view.host_intervals(trained), calls, loops]
        )
    )


def of_other_rules() -> str:
    """Callees that other rules are about."""
    return "|".join([f"(?:{calls.pattern})" for calls in CALLS.values()] + [OF_A_PART])


def calls_beside(measured: Measured, view: Selection) -> Rows:
    """Calls that are no part of the step and hold none: not the loop, not a step's function, not what the
    model calls. Nor others of a line that calls a part: the batch is made ready there.
    """
    start = view.calls["start_ns"].to_numpy()
    end = start + view.calls["dur_ns"].to_numpy()
    parts = np.flatnonzero(view.marked(*STEP_MARKS) & view.on_training_thread)
    begins = np.sort(view.host["start_ns"].to_numpy()[parts])
    holds_part = np.searchsorted(begins, end) > np.searchsorted(begins, start)
    hooks = view.clipped(view.calls, _of_hooks(measured, view))
    in_part = started_in(view.calls, subtract(view.host_intervals(parts), hooks))
    lines = pd.MultiIndex.from_frame(view.host[["file", "line"]].iloc[parts].astype({"file": str}))
    of_part = pd.MultiIndex.from_frame(view.calls[["file", "line"]].astype({"file": str})).isin(lines)
    return np.flatnonzero(view.calls_in_steps & ~holds_part & ~in_part & ~of_part)


@once
def callers(view: Selection) -> Rows:
    """For each call the innermost other one around it; -1 for none."""
    start, dur = (view.calls[name].to_numpy() for name in ("start_ns", "dur_ns"))
    return innermost(start, dur, np.ones(len(start), bool), np.zeros(len(start), np.int64))


def calls_within(view: Selection, calls: Rows) -> Rows:
    """All that these calls call, and what that calls."""
    around, found = callers(view), [NO_ROWS]
    while len(calls):
        calls = np.flatnonzero(np.isin(around, calls))
        found.append(calls)
    return np.sort(np.concatenate(found))


@once
def is_outermost(view: Selection) -> np.ndarray:
    """Per call: its line does not call itself around it."""
    calls, around = view.calls, callers(view)
    line = pd.MultiIndex.from_frame(calls[["file", "line"]].astype({"file": str}))
    number = np.append(pd.factorize(line)[0], -1)
    found, outer = np.ones(len(calls), bool), around
    while (outer >= 0).any():
        found &= number[outer] != number[:-1]
        outer = np.append(around, -1)[outer]
    return found
