"""Rows picked by a tensor of their numbers: `x[index]` and above all its backward take a CPU several times as
long as `x.index_select(0, index)`.
"""

from __future__ import annotations

import math

import numpy as np

from diagnose.measure.areas.operators import input_shapes, shape_of
from diagnose.measure.autograd import forward_of
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_ROWS, Rows

PICKS, PUTS_BACK, MASK = "aten::index", "aten::_index_put_impl_", "aten::nonzero"
# of its time, with two threads and with one: `python -m benchmarks row-indexing` (0.2 to 0.6, and 0.4 to 1.2)
LEFT, LEFT_ON_ONE = 0.4, 0.75
NUMBERS_AT_LEAST = 10_000


@selector("row_indexing", "picking rows with `x[index]`, and their backward", needs="shapes")
def _row_indexing(view: Selection) -> Rows:
    """Each backward that puts rows back, and the call that it belongs to."""
    if view.has_device:
        return NO_ROWS
    is_op, parent = np.asarray(view.kind == "op"), view.host["parent"].to_numpy()
    masks = set(parent[is_op & (view.name == MASK)].tolist())
    forward = forward_of(view)
    back = [
        row
        for row in view.named(is_op & (view.name == PUTS_BACK) & (forward >= 0)).tolist()
        if row not in masks and _numbers(view, row) >= NUMBERS_AT_LEAST
    ]
    picks = [row for row in forward[back].tolist() if view.name[row] == PICKS]
    return np.sort(np.array([*back, *picks], np.int64))


@metric("row_indexing_left", "share", "Share of the time of this indexing that `index_select` takes")
def _row_indexing_left(measured: Measured) -> Value | Missing:
    return LEFT_ON_ONE if measured.metric("thread_count") == 1 else LEFT


@metric("row_indexing_gain_share", "share", "Share of the step that `index_select` saves")
def _row_indexing_gain_share(measured: Measured) -> Value | Missing:
    return measured.needed("row_indexing_share") * (1 - measured.needed("row_indexing_left"))


def _numbers(view: Selection, row: int) -> int:
    """How many numbers were picked by an index along one dimension, as their backward puts them back; 0 where
    it was otherwise.
    """
    given = [shape_of(shape) for shape in input_shapes(view.host["shapes"].array[row])]
    if len(given) < 3 or not given[0] or len(given[0]) != len(given[2]):
        return 0
    differ = sum(one != other for one, other in zip(given[0], given[2], strict=True))
    return math.prod(given[2]) if differ <= 1 else 0
