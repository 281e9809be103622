"""Recurrent modules given one time step at a time, and loops of cells that a module would replace."""

from __future__ import annotations

import re

import numpy as np

from diagnose.measure.areas.launches import cell_runs
from diagnose.measure.areas.operators import both_ways, input_shapes, shape_of
from diagnose.measure.areas.tried import define_gain_share, left_as_tried
from diagnose.measure.loops import MIN_REPEATS, loop_time
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_STEPS, Missing
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import NO_ROWS, Rows
from diagnose.trace.intervals import total

MODULE_OP = r"^aten::(lstm|gru|rnn_tanh|rnn_relu)$"
# What a cell leaves of a module's call for one time step, forward and backward: LSTM 0.2 to 0.9, GRU 0.6
# to 1; batches of 8 to 128 rows and 64 to 256 units, on one and two cores of an EPYC, torch 2.13.
LEFT = {"lstm": 0.5, "gru": 0.8, "rnn_tanh": 0.8, "rnn_relu": 0.8}
# What a module for the whole sequence leaves of a loop of cells on a CPU, forward and backward: LSTM 0.2 to
# 0.9, GRU 0.7 to 1.7, RNN 0.6 to 0.9 (decision 199). Of many small operators 0.2 to 0.4, in our samples.
OF_CELLS = {"lstm": 0.45, "gru": 1.0, "rnn_tanh": 0.8, "rnn_relu": 0.8}
OF_LAUNCHES = 0.3


@selector(
    "one_step_recurrent",
    "recurrent modules called with one time step at a time, with their backward",
    needs="shapes",
    attributed=both_ways,
)
def _one_step_recurrent(view: Selection) -> Rows:
    """None on a GPU, where it was not measured what a cell takes less."""
    if view.has_device:
        return NO_ROWS
    shapes = view.host["shapes"].array
    one_step = np.array([_is_one_step(text) for text in shapes.categories] + [False])[shapes.codes]
    own = (view.kind == "op") & view.on_training_thread & ~view.host["backward"].to_numpy()
    calls = view.named(own & one_step & view.name_matches(MODULE_OP))
    step = np.searchsorted(view.host_windows[:, 0], view.host["start_ns"].to_numpy()[calls], side="right")
    return calls[np.bincount(step, minlength=1)[step] >= MIN_REPEATS] if len(calls) else NO_ROWS


def _is_one_step(text: str) -> bool:
    """Whether the input, by time, batch and number in whatever order, has as many rows as the state."""
    given = input_shapes(text)[:2]
    if len(given) < 2:
        return False
    inputs, state = shape_of(given[0]), shape_of(given[1]) or shape_of(next(iter(given[1]), None))
    return len(inputs) == 3 and len(state) == 3 and inputs[0] * inputs[1] == state[1] > 0


@metric(
    "one_step_recurrent_tried", "share", "Share of their time that cells for one time step left in this run"
)
def _one_step_recurrent_tried(measured: Measured) -> Value | Missing:
    return left_as_tried(measured, "one_step")


@metric("one_step_recurrent_left", "share", "Share of their time that cells for one time step leave")
def _one_step_recurrent_left(measured: Measured) -> Value | Missing:
    """As tried in this run, else as they usually do."""
    view, tried = measured.timeline, measured.metric("one_step_recurrent_tried")
    if not isinstance(tried, Missing):
        return tried
    if view is None:
        return NO_STEPS
    rows = measured.rows(SELECTORS["one_step_recurrent"])
    if not len(rows):
        return Missing("no recurrent module is called with one time step at a time")
    dur = view.host["dur_ns"].to_numpy()[rows]
    left = [LEFT[re.sub("^aten::", "", name)] for name in view.name[rows]]
    return float(np.average(left, weights=dur))


@metric(
    "rnn_cell_loop_left", "share", "Share of a loop of recurrent cells that a module for the sequence leaves"
)
def _rnn_cell_loop_left(measured: Measured) -> Value | Missing:
    """Of the cells by their kind, of what lies between them as of layers that take the whole sequence."""
    view = measured.timeline
    if view is None:
        return NO_STEPS
    runs = cell_runs(view)
    if not runs:
        return Missing("no recurrent cell is called once per time step")
    if view.has_device:
        return OF_LAUNCHES
    cells = np.concatenate(runs)
    dur = view.host["dur_ns"].to_numpy()[cells]
    left = [OF_CELLS[re.sub("^aten::|_cell$", "", name)] for name in view.name[cells]]
    beside_ns = max(0, total(loop_time(view, runs)) - int(dur.sum()))
    return float(np.average([*left, OF_LAUNCHES], weights=[*dur, beside_ns]))


define_gain_share("one_step_recurrent", "Share of the step that cells in their place save")
define_gain_share("rnn_cell_loop", "Share of the step that a module in the place of cells saves")
