"""Cost by line from nested calls worked out by hand."""

from __future__ import annotations

import pandas as pd

from diagnose.measure.lines import _sums


def calls(*rows: tuple[int, int, int]) -> pd.DataFrame:
    """Rows of (line, start, dur), in one file and function."""
    return pd.DataFrame(rows, columns=["line", "start_ns", "dur_ns"]).assign(file="train.py", function="main")


def test_self_time_leaves_out_nested_lines() -> None:
    # Line 5 calls a user function (0-100) whose line 20 makes two calls, 10-40 and 50-90.
    sums = _sums(calls((5, 0, 100), (20, 10, 30), (20, 50, 40)))
    assert sums == {("train.py", 5, "main"): [30, 100, 1], ("train.py", 20, "main"): [70, 70, 2]}


def test_recursion_counts_a_line_once_in_its_total() -> None:
    # Line 7 calls itself: 0-100 around 10-60.
    assert _sums(calls((7, 0, 100), (7, 10, 50))) == {("train.py", 7, "main"): [100, 100, 2]}


def test_calls_one_after_another_do_not_nest() -> None:
    assert _sums(calls((5, 0, 10), (6, 10, 10))) == {
        ("train.py", 5, "main"): [10, 10, 1],
        ("train.py", 6, "main"): [10, 10, 1],
    }
