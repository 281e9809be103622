"""The backward pass: what it computes that no optimizer uses."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.areas.user_code import PLACE
from diagnose.measure.autograd import is_backward_of
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_CALLS_SEEN, NO_STEPS, NOT_RECORDED, Missing, known
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, started_in
from diagnose.trace.intervals import intersect, subtract, union

ADDS_UP = r"^torch::autograd::AccumulateGrad$"  # autograd's node at a parameter
# what scripts do with the gradients of one loss alone: keep them, clear them, take their norm
TAKES_GRADIENTS = r"^aten::(clone|zero_|copy_|norm|linalg_vector_norm|_foreach_\w+|stack|cat)$"
# of products with a layer's weights: half of it makes their gradients, half those of what the layer was given
WITH_WEIGHTS = r"(?<![A-Za-z])(Addmm|Mm|Linear|MkldnnLinear|Convolution|MkldnnRnnLayer|CudnnRnn)Backward"
OWN_WEIGHTS = 0.45  # of it: as `passed-through-weights` has it


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
    rows = _backward_of_own_forwards(view)
    forward = view.host["sequence"].to_numpy()[rows]
    runs = pd.DataFrame({"forward": forward, "name": view.name[rows].codes, "turn": _turns(view, rows)})
    is_earlier = runs["turn"] < runs.groupby(["forward", "name"])["turn"].transform("max")
    again = np.zeros(len(view.host), bool)
    again[rows[is_earlier & _adds_up(view, runs["turn"])]] = True
    return view.named(again)


def _backward_of_own_forwards(view: Selection) -> Rows:
    """Backward operators of what the training thread computed."""
    sequence = view.host["sequence"].to_numpy()
    backward = view.host["backward"].to_numpy() & (view.kind == "op")
    # Autograd numbers the operators of each thread by itself, and threads that live for one step begin anew.
    own = sequence[(sequence >= 0) & ~backward & view.on_training_thread]
    return np.flatnonzero(backward & np.isin(sequence, own))


def _adds_up(view: Selection, turns: pd.Series) -> np.ndarray:
    """Whether gradients were added to parameters in these turns: `torch.autograd.grad` gives them to the one
    who asks for them. Where no such node was recorded at all, nobody knows.
    """
    added = np.flatnonzero(view.name_matches(ADDS_UP))
    return np.isin(turns, _turns(view, added)) if len(added) else np.ones(len(turns), bool)


def additions_to_gradients(view: Selection) -> Rows:
    """What adds a pass's gradients to those that the parameters have. Where they have none, as after
    `parameter.grad = None`, they get the pass's own.
    """
    around = view.host["parent"].to_numpy()
    return np.flatnonzero(
        view.name_matches(r"^aten::add_?$") & np.append(view.name_matches(ADDS_UP), False)[around]
    )


@metric("optimizer_count", "count", "Number of optimizers that stepped while the script was recorded")
def _optimizer_count(measured: Measured) -> Value | Missing:
    return len(known(measured.fact("optimizers")))


# ---- gradients that no optimizer uses


@fact_selector("untrained_backward", "the backward through modules whose parameters no optimizer has")
def _untrained_backward(measured: Measured) -> list[FactPlace] | Missing:
    """Where something is trained through them, what their own weights take of it."""
    view = measured.detail
    if view is None:
        return NO_CALLS_SEEN
    needless, passed = (
        view.named(view.marked(kind) & view.on_training_thread) for kind in ("untrained", "untrained_through")
    )
    found = []
    for marks, counted, nodes, part in (
        (needless, NO_INTERVALS, "", 1.0),
        (passed, view.host_intervals(needless), WITH_WEIGHTS, OWN_WEIGHTS),
    ):
        for line, rows in _by_line(view, marks).items():
            spans = subtract(view.host_intervals(np.array(rows)), counted)
            ms = part * measured.detail_ms(_backward_of(view, spans, nodes))
            found.append(FactPlace(*line, len(rows) / view.step_count, ms))
    return found


def _by_line(view: Selection, marks: Rows) -> dict[tuple[str, int, str], list[int]]:
    """The marks of each line: file, number, function."""
    lines: dict[tuple[str, int, str], list[int]] = {}
    for row, line in zip(marks.tolist(), view.host[PLACE].iloc[marks].itertuples(index=False), strict=True):
        lines.setdefault(tuple(line), []).append(row)
    return lines


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
    returned = is_backward_of(view, started_in(view.host, spans) & view.on_training_thread)
    return _work_of(view, view.named(returned & view.name_matches(nodes)))


def _work_of(view: Selection, rows: Rows) -> Intervals:
    """The time of these host events; with a GPU, that of the kernels they launch."""
    if not view.has_device:
        return view.host_intervals(rows)
    launch = view.device["launch"].to_numpy()
    launched = np.flatnonzero((launch >= 0) & started_in(view.host, view.host_intervals(rows))[launch])
    return SELECTORS["kernels"].attributed(view, launched)


# ---- several losses, each with a backward of its own


@fact_selector(
    "separate_backward",
    "backward passes that run again through what another one before the same optimizer's step runs through "
    "(`retain_graph=True`), but for the last of them",
)
def _separate_backward(measured: Measured) -> list[FactPlace] | Missing:
    """By the line that asks for the pass, where that was recorded."""
    view = measured.timeline
    if view is None:
        return NO_STEPS
    rows = _passed_again(view)
    passes = view.named(view.marked("backward") & view.on_training_thread)
    start = view.host["start_ns"].to_numpy()
    asked = np.searchsorted(start[passes], start[rows], side="right") - 1
    lines = [*view.host[PLACE].iloc[passes].itertuples(index=False, name=None), ("", -1, "")]
    by_line: dict[tuple[str, int, str], list[int]] = {}
    for number in np.unique(asked).tolist():  # -1 where no such line was recorded
        by_line.setdefault(lines[number], []).append(number)
    return [
        FactPlace(
            *line,
            len(numbers) / view.step_count,
            measured.timeline_ms(_work_of(view, rows[np.isin(asked, numbers)])),
        )
        for line, numbers in by_line.items()
    ]


def _passed_again(view: Selection) -> Rows:
    """Operators of passes that give parameters gradients and are followed by another one that runs them
    again and adds to these gradients, before the optimizer's step, where nothing is done with the gradients
    in between.
    """
    rows, start = _backward_of_own_forwards(view), view.host["start_ns"].to_numpy()
    rows = rows[np.argsort(start[rows], kind="stable")]
    runs = pd.DataFrame(
        {
            "forward": view.host["sequence"].to_numpy()[rows],
            "name": view.name[rows].codes,
            "turn": _turns(view, rows),
            "start": start[rows],
        }
    )
    of_operator = runs.groupby(["forward", "name", "turn"])["start"]
    following = of_operator.shift(-1)
    is_earlier = following.notna().to_numpy()
    begin = runs["start"].to_numpy()[is_earlier]
    until = following.to_numpy()[is_earlier].astype(np.int64)
    last = of_operator.transform("max").to_numpy()[is_earlier]
    updates = np.append(start[view.optimizer_steps], np.iinfo(np.int64).max)
    update = updates[runs["turn"].to_numpy()[is_earlier]]
    outside = ~view.host["backward"].to_numpy() & view.on_training_thread
    added = number_between(start[view.name_matches(ADDS_UP)], begin, until)
    added_last = number_between(start[additions_to_gradients(view)], last, update)
    taken = number_between(start[outside & view.name_matches(TAKES_GRADIENTS)], begin, until)
    rows = rows[is_earlier]
    return rows[(added > 0) & (added_last > 0) & (2 * taken < added) & view.in_steps[rows]]


def number_between(times: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """How many of these (in order) lie between each two."""
    return np.searchsorted(times, end) - np.searchsorted(times, begin)
