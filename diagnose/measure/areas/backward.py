"""The backward pass: what it computes that no optimizer uses."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.areas.user_code import PLACE
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_CALLS_SEEN, NO_STEPS, NOT_RECORDED, Missing, known
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import Intervals, Rows, started_in
from diagnose.trace.intervals import intersect, union

ADDS_UP = r"^torch::autograd::AccumulateGrad$"  # autograd's node at a parameter
# of products with a layer's weights: half of it makes their gradients, half those of what the layer was given
WITH_WEIGHTS = r"(?<![A-Za-z])(Addmm|Mm|Linear|MkldnnLinear|Convolution|MkldnnRnnLayer|CudnnRnn)Backward"


def _turns(view: Selection, rows: Rows) -> np.ndarray:
    """For each of these host events how many optimizers' steps began before it."""
    start = view.host["start_ns"].to_numpy()
    updates = start[view.optimizer_steps]
    return np.searchsorted(updates, start[rows])


def _from_first_to_last(view: Selection, rows: Rows) -> Intervals:
    """From the first of these operators between two updates to the end of the last; with a
    GPU, the kernels launched meanwhile.

    What lies between them are the gradients' sums of the same part of the graph,
    which have no forward of their own.
    """
    start = view.host["start_ns"].to_numpy()[rows]
    ends = start + view.host["dur_ns"].to_numpy()[rows]
    runs = (
        pd.DataFrame({"start": start, "end": ends})
        .groupby(_turns(view, rows))
        .agg({"start": "min", "end": "max"})
    )
    spans = intersect(union(runs.to_numpy(np.int64)), view.host_span)
    if not view.has_device:
        return spans
    launch = view.device["launch"].to_numpy()
    launched = np.flatnonzero((launch >= 0) & started_in(view.host, spans)[launch])
    return SELECTORS["kernels"].attributed(view, launched)


@selector(
    "repeated_backward",
    "backward operators that run again for the same forward after an optimizer's step "
    "(`retain_graph=True`), except their last run",
    attributed=_from_first_to_last,
)
def _repeated_backward(view: Selection) -> Rows:
    sequence = view.host["sequence"].to_numpy()
    backward = view.host["backward"].to_numpy() & (view.kind == "op")
    # Autograd numbers the operators of each thread by itself, and threads that live for one step begin anew.
    own = sequence[(sequence >= 0) & ~backward & view.on_training_thread]
    rows = np.flatnonzero(backward & np.isin(sequence, own))
    runs = pd.DataFrame(
        {"forward": sequence[rows], "name": view.name[rows].codes, "turn": _turns(view, rows)}
    )
    is_earlier = runs["turn"] < runs.groupby(["forward", "name"])["turn"].transform("max")
    again = np.zeros(len(view.host), bool)
    again[rows[is_earlier & _adds_up(view, runs["turn"])]] = True
    return view.named(again)


def _adds_up(view: Selection, turns: pd.Series) -> np.ndarray:
    """Whether gradients were added to parameters in these turns: `torch.autograd.grad` gives them to the one
    who asks for them. Where no such node was recorded at all, nobody knows.
    """
    added = np.flatnonzero(view.name_matches(ADDS_UP))
    return np.isin(turns, _turns(view, added)) if len(added) else np.ones(len(turns), bool)


@metric("optimizer_count", "count", "Number of optimizers that stepped while the script was recorded")
def _optimizer_count(measured: Measured) -> Value | Missing:
    return len(known(measured.fact("optimizers")))


# ---- gradients that no optimizer uses


@fact_selector("untrained_backward", "the backward through modules whose parameters no optimizer has")
def _untrained_backward(measured: Measured) -> list[FactPlace] | Missing:
    view = measured.detail
    if view is None:
        return NO_CALLS_SEEN
    marks = view.named(view.marked("untrained") & view.on_training_thread)
    lines = view.host[PLACE].iloc[marks].itertuples(index=False, name=None)
    by_line: dict[tuple[str, int, str], list[int]] = {}
    for row, line in zip(marks.tolist(), lines, strict=True):
        by_line.setdefault(line, []).append(row)
    return [
        FactPlace(
            *line,
            len(rows) / view.step_count,
            measured.detail_ms(_backward_of(view, view.host_intervals(np.array(rows)))),
        )
        for line, rows in by_line.items()
    ]


@fact_selector("cleared_backward", "the backward for gradients that are cleared before they are used")
def _cleared_backward(measured: Measured) -> list[FactPlace] | Missing:
    """Of the calls of the model whose gradients these are."""
    return _cleared(measured, through=False)


@fact_selector(
    "cleared_weights",
    "the backward of layers whose own gradients are cleared before they are used, and through which others "
    "are trained",
)
def _cleared_weights(measured: Measured) -> list[FactPlace] | Missing:
    return _cleared(measured, through=True, nodes=WITH_WEIGHTS)


def _cleared(measured: Measured, *, through: bool, nodes: str = "") -> list[FactPlace] | Missing:
    told, view = measured.recording.facts.get("cleared_gradients"), measured.timeline
    if told is None or view is None:
        return NOT_RECORDED if view is not None else NO_STEPS
    forwards = view.named(view.marked("forward") & view.on_training_thread)
    places = view.host[PLACE].iloc[forwards]
    found = []
    for line in told:
        if line.get("through", False) != through:
            continue
        rows = forwards[((places["file"] == line["file"]) & (places["line"] == line["line"])).to_numpy()]
        wasted = line["wasted_count"] / (line["wasted_count"] + line["useful_count"])
        ms = measured.timeline_ms(_backward_of(view, view.host_intervals(rows), nodes)) * wasted
        told_at = line.get("caller") or line
        place = (told_at["file"], told_at["line"], told_at["function"])
        found.append(FactPlace(*place, wasted * len(rows) / view.step_count, ms))
    return found


def _backward_of(view: Selection, spans: Intervals, nodes: str = "") -> Intervals:
    """The backward of what the training thread computes in these times; with a GPU, the kernels of it.
    ``nodes``: which of it, by a regular expression.
    """
    sequence, backward = view.host["sequence"].to_numpy(), view.host["backward"].to_numpy()
    computed = sequence[started_in(view.host, spans) & view.on_training_thread & ~backward & (sequence >= 0)]
    rows = view.named(backward & (sequence >= 0) & np.isin(sequence, computed) & view.name_matches(nodes))
    if not view.has_device:
        return view.host_intervals(rows)
    launch = view.device["launch"].to_numpy()
    launched = np.flatnonzero((launch >= 0) & started_in(view.host, view.host_intervals(rows))[launch])
    return SELECTORS["kernels"].attributed(view, launched)
