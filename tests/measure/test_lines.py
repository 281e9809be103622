"""Cost by line from nested calls worked out by hand."""

from __future__ import annotations

import numpy as np

from diagnose.measure.lines import _sums


def columns(*rows: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """Rows of (line, start, dur), in one file and function."""
    line, start, dur = (np.array(values, np.int64) for values in zip(*rows, strict=True))
    zero = np.zeros(len(line), np.int64)
    return {"file": zero, "function": zero, "line": line, "start_ns": start, "dur_ns": dur}


def test_self_time_leaves_out_nested_lines() -> None:
    # Line 5 calls a user function (0-100) whose line 20 makes two calls, 10-40 and 50-90.
    sums = _sums(columns((5, 0, 100), (20, 10, 30), (20, 50, 40)))
    assert sums == {(0, 5, 0): [30, 100, 1], (0, 20, 0): [70, 70, 2]}


def test_recursion_counts_a_line_once_in_its_total() -> None:
    # Line 7 calls itself: 0-100 around 10-60.
    assert _sums(columns((7, 0, 100), (7, 10, 50))) == {(0, 7, 0): [100, 100, 2]}


def test_calls_one_after_another_do_not_nest() -> None:
    assert _sums(columns((5, 0, 10), (6, 10, 10))) == {(0, 5, 0): [10, 10, 1], (0, 6, 0): [10, 10, 1]}
