"""Which operators work on the positions of a model's sequences: they are given a tensor with as many, or a
loop over time calls them for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from diagnose.measure.areas.operators import both_ways, by_shapes, input_shapes
from diagnose.measure.areas.optimizer import optimizer_spans
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.view import Rows, started_in
from diagnose.measure.work import in_rows, outermost

OFF_BY = 2  # positions: labels are shifted by one, a first token or a last one is added
STRIDES = (2, 4, 8)
OF_EACH_POSITION = 0.5  # so many calls of one operator for each position are a loop over time


def share_of_positions(measured: Measured, length: float) -> float:
    """Of what forward and backward take, by the shapes of tensors. 1 where that is not known: shapes are not
    always recorded. ``length``: on average; no whole number where it differs from batch to batch.
    """
    view = measured.timeline
    if view is None or length <= OFF_BY:
        return 1.0
    own = (view.kind == "op") & view.on_training_thread & ~view.host["backward"].to_numpy()
    rows = outermost(view, own & view.in_steps & ~started_in(view.host, optimizer_spans(view)))
    is_one_length = length == round(length)
    of_positions = rows[_on_positions(view, rows, int(length)) if is_one_length else _varying(view, rows)]
    whole_ms, ms = (_model_ms(measured, view, some) for some in (rows, of_positions))
    return ms / whole_ms if ms > 0 else 1.0


def _model_ms(measured: Measured, view: Selection, rows: Rows) -> float:
    return measured.timeline_ms(in_rows(view, both_ways(view, rows), "forward", "backward"))


def _on_positions(view: Selection, rows: Rows, length: int) -> np.ndarray:
    """Which of these rows."""
    of_kind, shapes = _kinds(view, rows)
    in_loop = (np.bincount(of_kind) >= OF_EACH_POSITION * length * view.step_count)[of_kind]
    given = by_shapes(view, lambda text: _has_positions(text, length))[rows]
    return np.asarray(given | in_loop | (shapes < 0), dtype=bool)


def _varying(view: Selection, rows: Rows) -> np.ndarray:
    """Which of these rows, where lengths differ from step to step: all but calls with the same shapes that
    each of them makes as often.
    """
    of_kind, shapes = _kinds(view, rows)
    start = view.host["start_ns"].to_numpy()[rows]
    of_step = np.searchsorted(view.host_windows[:, 0], start, side="right") - 1
    counts = np.zeros((of_kind.max(initial=0) + 1, view.step_count), int)
    np.add.at(counts, (of_kind, of_step), 1)
    is_same = (counts == counts[:, :1]).all(axis=1) & (view.step_count > 1)
    return np.asarray(~is_same[of_kind] | (shapes < 0), dtype=bool)


def _kinds(view: Selection, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Of each row the kind of call, by its name and shapes; and the code of its shapes."""
    names, shapes = view.name[rows].codes, view.host["shapes"].array[rows].codes
    _, of_kind = np.unique(np.column_stack([names, shapes]), axis=0, return_inverse=True)
    return of_kind.reshape(-1), shapes


def _has_positions(text: str, length: int) -> bool:
    """Whether a tensor has a dimension of so many, or of a multiple, as all positions of all rows; or nothing
    is known of its shape.
    """
    sizes = list(_sizes(input_shapes(text)))
    near = range(length - OFF_BY, length + OFF_BY + 1)
    strided = {length // stride + more for stride in STRIDES for more in (0, 1) if length >= 4 * stride}
    return not sizes or any(
        size in near
        or size in strided
        or (size > length and any(size % one == 0 for one in (length - 1, length, length + 1)))
        for size in sizes
    )


def _sizes(shapes: Any) -> Iterator[int]:
    for value in shapes:
        if isinstance(value, list):
            yield from _sizes(value)
        elif isinstance(value, int):
            yield value
