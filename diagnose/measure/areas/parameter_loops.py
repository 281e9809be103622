"""Python loops over parameters: an average of weights, an update or a clipping, tensor by tensor."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.launches import waiting_for_host
from diagnose.measure.loops import loop_time, periodic_runs
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_ROWS, Rows, once
from diagnose.measure.work import inside, outermost

# copies and clamps alone are no quicker by `torch._foreach_…` on a CPU
ARITHMETIC_OP = r"^aten::(mul|add|sub|div|lerp|addcmul|addcdiv)_?$"
IN_PLACE_OP = r"^aten::(mul|add|sub|div|lerp|copy|addcmul|addcdiv)_$"
# a repeated block of layers that writes in place (a running count) is no loop over parameters
ON_TENSORS_OP = (
    r"^aten::(mul|add|sub|rsub|div|lerp|copy|addcmul|addcdiv|sqrt|rsqrt|pow|square|neg|sign|abs|reciprocal|"
    r"maximum|zero|fill|clamp\w*|norm|linalg_vector_norm|sum|clone|detach|to|_to_copy|item|view|zeros_like|"
    r"empty_like|ones_like|randn_like|lift_fresh|is_nonzero)_?$"
)
MIN_TENSORS = 4  # a network of two layers has four
MAX_OPS_PER_TENSOR = 32  # Adam by hand takes about 14


@once
def parameter_loops(view: Selection) -> list[Rows]:
    """Runs in which the same operators repeat, one of them in place, outside forward, backward, optimizer
    and loader: each loop's outermost operators.
    """
    if not (view.optimizer_steps | view.marked("forward")).any():
        return []  # what repeats may be torch's own optimizer, which old traces do not name
    backward = view.host["backward"].to_numpy()
    outer = outermost(view, (view.kind == "op") & view.on_training_thread)
    of_rows = view.is_among(np.concatenate([NO_ROWS, *view.row_loops]))
    elsewhere = (
        of_rows[outer]
        | backward[outer]
        | view.in_library_work[outer]
        | ~view.name_matches(ON_TENSORS_OP)[outer]
        | inside(view, outer, view.marked("forward"))
    )
    codes = view.name.codes[outer].astype(np.int64)
    codes[elsewhere] = -1 - np.flatnonzero(elsewhere)  # like nothing else
    step = np.searchsorted(view.host_windows[:, 0], view.host["start_ns"].to_numpy()[outer], side="right")
    kinds = np.array([view.name_matches(pattern)[outer] for pattern in (IN_PLACE_OP, ARITHMETIC_OP)])
    borders = np.flatnonzero(np.diff(step)) + 1
    loops = []
    for part in np.split(np.arange(len(outer)), borders):
        loops += [outer[part[first:last]] for first, last in _runs(codes[part], kinds[:, part])]
    return loops


def _runs(codes: np.ndarray, kinds: np.ndarray) -> list[tuple[int, int]]:
    """Of one step, the shortest period first; each holds every one of the kinds."""
    found, taken = [], np.zeros(len(codes), bool)
    for period in range(1, min(MAX_OPS_PER_TENSOR, len(codes) // MIN_TENSORS) + 1):
        for first, last in periodic_runs(codes, period, MIN_TENSORS):
            if not taken[first:last].any() and kinds[:, first : first + period].any(axis=1).all():
                taken[first:last] = True
                found.append((first, last))
    return found


@selector(
    "parameter_loop",
    "Python loops that write one parameter or gradient after another, outside the optimizer",
    attributed=lambda view, rows: waiting_for_host(view, loop_time(view, parameter_loops(view))),
)
def _parameter_loop(view: Selection) -> Rows:
    return np.concatenate([NO_ROWS, *parameter_loops(view)])
