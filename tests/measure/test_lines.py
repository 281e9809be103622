"""Cost by line from nested calls worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.lines import _sums, line_costs, lines_inside
from diagnose.measure.sources import Sources


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


def test_what_autograd_does_for_a_line_is_its_backward() -> None:
    # Line 20 runs an operator for 100 µs, whose backward takes 300 under line 30, which is a part of the step.
    one = measured_case(
        {
            "timeline": "main  0  1000  step  ProfilerStep#1\n"
            "main  0  100  mark  forward@20\n"
            'main  0  100  op  aten::mm  {"Sequence number": 5}\n'
            "main  500  400  mark  backward@30\n"
            'main  500  300  op  autograd::engine::evaluate_function: MmBackward0  {"Sequence number": 5}\n',
            "calls": "0  100  20  aten::mm\n500  400  30  torch/_tensor.py: backward",
        }
    )
    costs = {cost.line: cost for cost in line_costs(one)}
    assert costs[20].backward_ms == pytest.approx(0.3)
    assert (costs[20].is_part, costs[30].is_part) == (False, True)
    # of the 400 of line 30 the 300 are line 20's
    assert (costs[20].self_ms, costs[30].self_ms) == (pytest.approx(0.1), pytest.approx(0.1))
    assert costs[30].total_ms == pytest.approx(0.4)


def test_the_lines_of_a_loop_are_inside_the_line_that_begins_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line 41 in the loop from 40 to 43 calls f, whose line 60 works; the loop from 10 to 50 is the training
    loop: line 30 in it calls the backward.
    """
    monkeypatch.setattr(Sources, "loops", lambda _self, _file: [(10, 50), (40, 43)])
    one = measured_case(
        {
            "timeline": "main  0  1000  step  ProfilerStep#1\n"
            "main  0  100  op  aten::mm\nmain  500  400  mark  backward@30",
            "calls": "0  200  41  /job/train.py: f\n50  100  60  torch: sum\n500  400  30  torch: backward",
        }
    )
    file = line_costs(one)[0].file
    assert lines_inside(one, {(file, 40)}) == {(file, line) for line in (41, 42, 43, 60)}
    assert lines_inside(one, {(file, 10)}) == set()
    assert lines_inside(one, {(file, 41)}) == {(file, 60)}
