"""Dot products of pairs of vectors as products of matrices of one row with those of one column."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.operators import both_ways, input_shapes, shape_of
from diagnose.measure.autograd import operators_with_backward
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_ROWS, Rows, test_at
from diagnose.trace.distinct import distinct

PRODUCT_OP, AROUND_IT = r"^aten::bmm$", r"^aten::(matmul|einsum|inner|linalg_vecdot)$"


@selector(
    "dot_products",
    "dot products of many pairs of vectors by `bmm` on a CPU, with their backward",
    needs="shapes",
    attributed=both_ways,
)
def _dot_products(view: Selection) -> Rows:
    """Of those that have a backward: without one a sum of products is hardly faster."""
    if view.has_device:
        return NO_ROWS
    rows = view.named(view.name_matches(PRODUCT_OP) & view.is_among(operators_with_backward(view)))
    rows = rows[test_at(view.host["shapes"].array, rows, _of_vectors)]
    whole = view.outermost_ops(rows)
    return distinct(np.where(view.name_matches(AROUND_IT)[whole], whole, rows))


def _of_vectors(shapes: str) -> bool:
    """[pairs, 1, numbers] with [pairs, numbers, 1], of several numbers."""
    left, right = ([*map(shape_of, input_shapes(shapes)[:2]), (), ()])[:2]
    return (
        len(left) == len(right) == 3
        and left[1] == right[2] == 1
        and left[0] == right[0] > 1
        and left[2] == right[1] > 1
    )
