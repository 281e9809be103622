"""Python loops that call layers for one row, time step or sample of a tensor after another."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from diagnose.measure.areas.launches import waiting_for_host
from diagnose.measure.areas.operators import Shape, input_shapes, shape_of
from diagnose.measure.autograd import is_backward_of
from diagnose.measure.loops import MIN_REPEATS, loop_time
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_ROWS, Intervals, Rows, once
from diagnose.trace.intervals import union

# what multiplies one activation with parameters
LAYER = re.compile(r"aten::(linear|addmm|conv[123]d|_?convolution|embedding)$")
# what may read more than one row: then the rows are not known to be independent
MIXING = re.compile(
    r"aten::(matmul|mm|bmm|baddbmm|einsum|\w*softmax|argmax|multinomial|scaled_dot\w*|item|cat|stack|"
    r"lstm|gru|rnn_\w+|\w*_cell)$"
)
# they take a target, a place to write to or parameters beside the one activation
ONE_ACTIVATION = re.compile(
    r"aten::(linear|addmm|conv\w*|_?convolution|embedding|layer_norm|batch_norm|group_norm|prelu|copy_|"
    r"\w*loss\w*|binary_cross_entropy\w*|nll\w*)$"
)
ROW = "aten::select"
CELL_OPS = ("aten::matmul", "aten::mm", "aten::cat")  # of MIXING, what a written-out cell may call
JOIN = "aten::cat"
WRITTEN = ("aten::copy_", "aten::fill_")


class Body(NamedTuple):
    """What a loop does with each row: the operators' names, how often, and whether it reads rows
    that a layer then is given, with nothing that reads two activations.
    """

    names: Counter[str]
    is_fed_rows: bool
    is_independent: bool


@once
def _loops(view: Selection) -> list[tuple[Rows, Body]]:
    """The loops over rows that have layers in them, in forward."""
    backward = view.host["backward"].to_numpy()
    return [
        (loop, _body(view, loop))
        for loop in view.row_loops
        if not backward[loop].any() and any(LAYER.match(str(name)) for name in view.name[loop])
    ]


def _body(view: Selection, loop: Rows) -> Body:
    names = [str(name) for name in view.name[loop]]
    texts = view.host["shapes"].iloc[loop].tolist()
    shapes = [[shape for one in input_shapes(text) if (shape := shape_of(one))] for text in texts]
    read = [
        at
        for at, name in enumerate(names[:-1])
        if name == ROW and names[at + 1] not in WRITTEN and len(shapes[at])
    ]
    given = [
        (at, shape)
        for at, name in enumerate(names)
        for shape in (_joined(texts[at]) if name == JOIN else shapes[at][:1] if LAYER.match(name) else ())
    ]
    fed = sum(
        any(_is_row(shape, shapes[at][0]) for later, shape in given if later > at)
        for at in read[:MIN_REPEATS]
    )
    mixed = any(
        MIXING.match(name)
        or (not ONE_ACTIVATION.match(name) and len([one for one in given if np.prod(one) > 1]) > 1)
        for name, given in zip(names, shapes, strict=True)
    )
    return Body(Counter(names), 2 * fed > MIN_REPEATS, not mixed)


def _joined(text: str) -> list[Shape]:
    """The shapes of what is joined, as the row with the state before one layer is given both."""
    tensors = next(iter(input_shapes(text)), None)
    return [shape_of(shape) for shape in tensors] if isinstance(tensors, list) else []


def _is_row(given: Shape, whole: Shape) -> bool:
    """Whether the shape is that of one row: a dimension of the whole is gone, or one instead."""
    rows = {whole[:at] + whole[at + 1 :] for at in range(len(whole))}
    return tuple(size for size in given if size > 1) in {
        tuple(size for size in row if size > 1) for row in rows if row != whole
    }


def loops_both_ways(view: Selection, loops: list[Rows]) -> Intervals:
    """From each loop's first operator to the end of its last, and the backward of what they computed."""
    if not loops:
        return loop_time(view, loops)
    returned = view.named(is_backward_of(view, view.is_among(np.concatenate(loops))))
    return waiting_for_host(
        view, union(np.concatenate([loop_time(view, loops), view.host_intervals(returned)]))
    )


def _independent(view: Selection) -> list[Rows]:
    return [loop for loop, body in _loops(view) if body.is_fed_rows and body.is_independent]


def _gated(view: Selection) -> list[Rows]:
    """Those with the gates of an LSTM or a GRU: two sigmoids or more and a tanh for each row."""
    found = []
    for loop, body in _loops(view):
        rows = body.names[ROW] / max(1, sum(name == ROW for name in _period(view, loop)))
        gates = [body.names[f"aten::{name}"] / max(rows, 1) for name in ("sigmoid", "tanh")]
        feedback = any(MIXING.match(name) and name not in CELL_OPS for name in body.names)
        if body.is_fed_rows and gates[0] >= 2 and gates[1] >= 1 and not feedback:
            found.append(loop)
    return found


def layer_loops(view: Selection) -> list[Rows]:
    """Those that rules of their own are about."""
    return [*_independent(view), *_gated(view)]


def _period(view: Selection, loop: Rows) -> list[str]:
    """The names of the operators of one row."""
    names = [str(name) for name in view.name[loop]]
    return next(
        (names[:period] for period in range(1, len(names)) if names[period:] == names[:-period]), names
    )


@selector(
    "layer_loop",
    "Python loops that call the same layers for one row after another, with their backward",
    needs="shapes",
    attributed=lambda view, rows: loops_both_ways(view, _independent(view)),
)
def _layer_loop(view: Selection) -> Rows:
    return np.concatenate([NO_ROWS, *_independent(view)])


@selector(
    "written_out_cells",
    "recurrent cells written out in layers and gates, called once per time step, with their backward",
    needs="shapes",
    attributed=lambda view, rows: loops_both_ways(view, _gated(view)),
)
def _written_out_cells(view: Selection) -> Rows:
    return np.concatenate([NO_ROWS, *_gated(view)])
