"""Norms and deviations that take far longer on a CPU than the same by plain sums.

torch reduces norms along an outer dimension, and deviations along a short one, number by number.
"""

from __future__ import annotations

import math

from diagnose.measure.areas.operators import input_shapes, shape_of
from diagnose.measure.areas.slow_paths import left_of, rows_of
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Rows, once
from diagnose.measure.work import outermost

# By hand, ns a number on one core of an EPYC, torch 2.13: `norm(dim=0)` took 55 for 2 rows, 14 for 8, 4 for
# 64, `(x * x).sum(0).sqrt()` 0.3 to 0.7; `std` 66 along 2 numbers, 21 along 8, 9 along 64, by means 5 to 15.
NORMS, DEVIATIONS = r"^aten::(linalg_vector_norm|linalg_norm|norm)$", r"^aten::(std|var|std_mean|var_mean)$"
BY_SUMS_NS = {NORMS: 0.8, DEVIATIONS: 8.0}  # a number
CALL_NS = 20_000.0  # besides: what a call and its threads take
FAR_LONGER = 3.0
NUMBERS_AT_LEAST = 10_000


@selector("slow_reductions", "norms and deviations that take far longer than plain sums", needs="shapes")
def _slow_reductions(view: Selection) -> Rows:
    return rows_of(view, _slow)


@metric("slow_reductions_left", "share", "Share of the time of these reductions that plain sums take")
def _slow_reductions_left(measured: Measured) -> Value | Missing:
    return left_of(measured, _slow)


@once
def _slow(view: Selection) -> list[tuple[int, float]]:
    """Each with what plain sums of as many numbers take, ns."""
    found: list[tuple[int, float]] = []
    if view.has_device:
        return found
    shapes, took_ns = view.host["shapes"].array, view.host["dur_ns"].to_numpy()
    for pattern, number_ns in BY_SUMS_NS.items():
        for row in outermost(view, view.name_matches(pattern) & (view.kind == "op")).tolist():
            given = next((shape_of(shape) for shape in input_shapes(shapes[row])), ())
            numbers = math.prod(given) if given else 0
            by_sums_ns = CALL_NS + number_ns * numbers
            if numbers >= NUMBERS_AT_LEAST and took_ns[row] > FAR_LONGER * by_sums_ns:
                found.append((row, by_sums_ns))
    return found
