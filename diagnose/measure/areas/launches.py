"""Launches: how the host feeds the GPU, or itself, with operators."""

from __future__ import annotations

import numpy as np

from diagnose.measure.autograd import is_backward_of
from diagnose.measure.loops import MIN_REPEATS, loop_time
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.view import NO_ROWS, Intervals, Rows, started_in
from diagnose.measure.work import in_rows, inside, outermost
from diagnose.trace.intervals import intersect, union

IDLE_FOR_HOST = ("launch_bound", "python")
CELL_OP = r"^aten::(lstm_cell|gru_cell|rnn_tanh_cell|rnn_relu_cell)$"
LAYERS = (
    r"\w*linear|addmm|mm|bmm|baddbmm|matmul|embedding|_?softmax|argmax|multinomial|"
    r"scaled_dot_product\w*|conv\w*"
)
SOLVERS = r"linalg_\w+|cholesky\w*|lu_\w+|inverse|triangular_solve"  # of matrices: no small operators
LAYER_OP = rf"^aten::({LAYERS}|{SOLVERS})$"
# Between two time steps these mean that the next input may depend on the last
# output, which a fused module cannot do.
FEEDBACK_OP = rf"^aten::({LAYERS}|item)$"
# what is left of these where the recorder has followed the inputs
CHOOSING_OP = r"^aten::(_?softmax|argmax|multinomial|item)$"


def waiting_for_host(view: Selection, spans: Intervals) -> Intervals:
    """These times whole; with a GPU, the part of them in which the GPU idles for the host."""
    spans = intersect(spans, view.host_span)
    return in_rows(view, spans, *IDLE_FOR_HOST) if view.has_device else spans


def _loop_time(view: Selection, rows: Rows) -> Intervals:
    return waiting_for_host(view, loop_time(view, plain_row_loops(view)))


def plain_row_loops(view: Selection) -> list[Rows]:
    """Loops over rows without layers in them: those are recurrences, which cannot be
    vectorised, or models called for each sample.
    """
    layer = view.name_matches(LAYER_OP)
    return [loop for loop in view.row_loops if not layer[loop].any()]


@selector(
    "row_loop", "Python loops that repeat a few operators for each row of a tensor", attributed=_loop_time
)
def _row_loop(view: Selection) -> Rows:
    return np.concatenate([NO_ROWS, *plain_row_loops(view)])


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


def cell_runs(view: Selection) -> list[Rows]:
    """Calls of recurrent cells that follow each other, at least MIN_REPEATS within a step, with
    nothing between that could feed them: layers on their inputs and outputs do not, where that was followed.
    """
    own = (view.kind == "op") & view.on_training_thread & ~view.host["backward"].to_numpy()
    is_cell = own & view.name_matches(CELL_OP)
    cells = outermost(view, is_cell)
    start = view.host["start_ns"].to_numpy()
    is_free = started_in(view.host.iloc[cells], _calls_with_free_cells(view))
    fed = np.zeros(len(cells), np.int64)
    for names, fed_so in ((FEEDBACK_OP, ~is_free), (CHOOSING_OP, is_free)):
        feeding = np.flatnonzero(own & view.name_matches(names))
        feeding = feeding[~inside(view, feeding, is_cell)]
        fed[fed_so] = np.searchsorted(start[feeding], start[cells[fed_so]])
    step = np.searchsorted(view.host_windows[:, 0], start[cells], side="right")
    borders = np.flatnonzero((np.diff(fed) != 0) | (np.diff(step) > 0) | np.diff(is_free)) + 1
    return [run for run in np.split(cells, borders) if len(run) >= MIN_REPEATS]


def _calls_with_free_cells(view: Selection) -> Intervals:
    """Calls of a model at lines that lead to cells whose inputs depend on no output of theirs."""
    forwards = np.flatnonzero(view.marked("forward") & view.on_training_thread)
    lines = zip(*(view.host[name].iloc[forwards] for name in ("file", "line")), strict=True)
    is_free = np.array([(str(file), int(line)) in view.free_cells for file, line in lines], bool)
    return view.host_intervals(forwards[is_free])


def cell_time(view: Selection, rows: Rows) -> Intervals:
    """From each run's first cell to the end of its last, and the backward of what the cells computed."""
    returned = view.named(is_backward_of(view, view.is_among(rows)))
    return waiting_for_host(
        view, union(np.concatenate([loop_time(view, cell_runs(view)), view.host_intervals(returned)]))
    )


@selector(
    "rnn_cell_loop",
    "recurrent cells called from Python once per time step, with their backward",
    attributed=cell_time,
)
def rnn_cell_loop(view: Selection) -> Rows:
    return np.concatenate([NO_ROWS, *cell_runs(view)])
