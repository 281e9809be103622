"""Launches: how the host feeds the GPU, or itself, with operators."""

from __future__ import annotations

import numpy as np

from diagnose.measure.loops import MIN_REPEATS, loop_time
from diagnose.measure.measured import FactPlace, Measured, Missing, Value, fact_selector, known, metric
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.typical import SLOW_STEP
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows
from diagnose.measure.work import in_rows, inside, outermost
from diagnose.trace.intervals import as_intervals, intersect, subtract, union

# an operator whose own part is shorter is mostly dispatch: that takes 2 to 20
# µs on the host, more under a profiler
SMALL_NS = 20_000
# Python between two operators up to this belongs to dispatching them; longer is work of its own
BETWEEN_NS = 50_000
IDLE_FOR_HOST = ("launch_bound", "python")
CELL_OP = r"^aten::(lstm_cell|gru_cell|rnn_tanh_cell|rnn_relu_cell)$"
LAYERS = (
    r"\w*linear|addmm|mm|bmm|baddbmm|matmul|embedding|_?softmax|argmax|multinomial|"
    r"scaled_dot_product\w*|conv\w*"
)
LAYER_OP = rf"^aten::({LAYERS})$"
# Between two time steps these mean that the next input may depend on the last
# output, which a fused module cannot do.
FEEDBACK_OP = rf"^aten::({LAYERS}|item)$"


def waiting_for_host(view: Selection, spans: Intervals) -> Intervals:
    """These times whole; with a GPU, the part of them in which the GPU idles for the host."""
    spans = intersect(spans, view.host_span)
    return in_rows(view, spans, *IDLE_FOR_HOST) if view.has_device else spans


def _loop_time(view: Selection, rows: Rows) -> Intervals:
    return waiting_for_host(view, loop_time(view, _plain_row_loops(view)))


def _plain_row_loops(view: Selection) -> list[Rows]:
    """Loops over rows without layers in them: those are recurrences, which cannot be
    vectorised, or models called for each sample.
    """
    layer = view.name_matches(LAYER_OP)
    return [loop for loop in view.row_loops if not layer[loop].any()]


@selector(
    "row_loop", "Python loops that repeat a few operators for each row of a tensor", attributed=_loop_time
)
def _row_loop(view: Selection) -> Rows:
    return np.concatenate([NO_ROWS, *_plain_row_loops(view)])


@selector(
    "launch_bound",
    "short idle times of the GPU while the host prepares and launches operators",
    needs="device",
    attributed=ledger_row("launch_bound"),
)
def launch_bound(view: Selection) -> Rows:
    launches = view.device["launch"].to_numpy()
    return view.named(view.is_among(launches[launches >= 0]))


# ---- recurrent cells


def _cell_runs(view: Selection) -> list[Rows]:
    """Calls of recurrent cells that follow each other, at least MIN_REPEATS within a step, with
    nothing between that could feed them.
    """
    own = (view.kind == "op") & view.on_training_thread & ~view.host["backward"].to_numpy()
    is_cell = own & view.name_matches(CELL_OP)
    cells = outermost(view, is_cell)
    feeding = np.flatnonzero(own & view.name_matches(FEEDBACK_OP))
    feeding = feeding[~inside(view, feeding, is_cell)]
    start = view.host["start_ns"].to_numpy()
    fed = np.searchsorted(start[feeding], start[cells])
    step = np.searchsorted(view.host_windows[:, 0], start[cells], side="right")
    borders = np.flatnonzero((np.diff(fed) > 0) | (np.diff(step) > 0)) + 1
    return [run for run in np.split(cells, borders) if len(run) >= MIN_REPEATS]


def _cell_time(view: Selection, rows: Rows) -> Intervals:
    """From each run's first cell to the end of its last, and the backward of what the cells computed."""
    host = view.host
    sequence, backward = host["sequence"].to_numpy(), host["backward"].to_numpy()
    forward = np.flatnonzero((sequence >= 0) & ~backward)
    computed = sequence[forward[inside(view, forward, view.is_among(rows))]]
    returned = view.named(backward & (sequence >= 0) & np.isin(sequence, computed))
    return waiting_for_host(
        view, union(np.concatenate([loop_time(view, _cell_runs(view)), view.host_intervals(returned)]))
    )


@selector(
    "rnn_cell_loop",
    "recurrent cells called from Python once per time step, with their backward",
    attributed=_cell_time,
)
def _rnn_cell_loop(view: Selection) -> Rows:
    return np.concatenate([NO_ROWS, *_cell_runs(view)])


# ---- small operators


def _large_ops(view: Selection) -> np.ndarray:
    """Which operators take SMALL_NS or longer themselves, what they call not counted."""
    dur, parent = view.host["dur_ns"].to_numpy(), view.host["parent"].to_numpy()
    ops = np.flatnonzero((view.kind == "op") & (parent >= 0))
    called = np.bincount(parent[ops], weights=dur[ops], minlength=len(dur))
    return np.asarray((view.kind == "op") & (dur - called >= SMALL_NS))


def dispatch_time(view: Selection) -> Intervals:
    """While the training thread does nothing but run small operators, and
    the Python between one and the next.
    """
    own = np.flatnonzero((view.kind == "op") & view.on_training_thread & view.in_steps)
    start, dur = view.host["start_ns"].to_numpy(), view.host["dur_ns"].to_numpy()
    near = union(as_intervals(start[own], dur[own] + BETWEEN_NS))
    large = own[_large_ops(view)[own]]
    return subtract(intersect(near, view.host_span), union(as_intervals(start[large], dur[large])))


def _small_op_time(view: Selection, rows: Rows) -> Intervals:
    """The dispatch in forward, backward and beside them, less the loops that have rules of their own."""
    loops = np.concatenate([loop_time(view, _plain_row_loops(view)), _cell_time(view, _rnn_cell_loop(view))])
    return (
        subtract(in_rows(view, dispatch_time(view), "forward", "backward", "operators"), loops)
        if len(rows)
        else NO_INTERVALS
    )


@selector(
    "small_ops",
    "runs of tiny operators that mostly dispatch, with the Python between them",
    attributed=_small_op_time,
)
def _small_ops(view: Selection) -> Rows:
    own = (
        (view.kind == "op")
        & view.on_training_thread
        & ~view.host["backward"].to_numpy()
        & ~view.in_library_work
    )
    outer = outermost(view, own)
    large = np.flatnonzero(own & _large_ops(view))
    in_loops = np.concatenate([NO_ROWS, *_plain_row_loops(view), *_cell_runs(view)])
    return np.setdiff1d(outer, np.concatenate([view.outermost_ops(large), in_loops]))


# ---- the garbage collector


def _rare_pauses_ms(measured: Measured) -> float:
    """What collections take that make their steps untypical, ms of the average step: the typical one is
    without them.
    """
    collector, untypical_ms = known(measured.fact("gc")), measured.number("untypical_ms")
    makes_untypical = collector["longest_ms"] >= (SLOW_STEP - 1) * measured.number("step_ms")
    return float(min(collector["ms_per_step"], untypical_ms)) if makes_untypical and untypical_ms > 0 else 0.0


@metric("rare_gc_pause_count", "count", "Number of collections that made a timed step untypical")
def _rare_gc_pause_count(measured: Measured) -> Value | Missing:
    longest_ms = float(known(measured.fact("gc"))["longest_ms"])
    steps = measured.needed("plain_step_count")
    return round(_rare_pauses_ms(measured) * steps / longest_ms) if longest_ms > 0 else 0


@fact_selector("rare_gc_pauses", "pauses of Python's garbage collector that make some steps untypical")
def _rare_gc_pauses(measured: Measured) -> list[FactPlace] | Missing:
    steps = measured.needed("plain_step_count")
    count = measured.needed("rare_gc_pause_count") / steps if steps else 0.0
    return [FactPlace("", -1, "", count, _rare_pauses_ms(measured))]


@fact_selector("gc_pauses", "Python's garbage collector, measured without a profiler")
def _gc_pauses(measured: Measured) -> list[FactPlace] | Missing:
    """Where the recorded full collections began, each with its part of what the collector takes of a typical
    step.
    """
    collector = measured.fact("gc")
    if isinstance(collector, Missing):
        return collector
    ms, view = float(collector["ms_per_step"]) - _rare_pauses_ms(measured), measured.timeline
    rows = view.named(view.marked("gc")) if view is not None else NO_ROWS
    if view is None or not len(rows):
        return [FactPlace("", -1, "", float(sum(collector["collections_per_step"])), ms)]
    marks = view.host[["file", "line", "function", "dur_ns"]].iloc[rows]
    lines = marks.groupby(["file", "line", "function"], observed=True)["dur_ns"].agg(["size", "sum"])
    whole = max(int(lines["sum"].sum()), 1)
    return [
        FactPlace(str(file), int(line), str(function), int(count) / view.step_count, ms * int(dur_ns) / whole)
        for (file, line, function), count, dur_ns in lines.itertuples()
    ]
