"""What calls take that the look at the dataflow tells of, by the operators of their lines, worked out by
hand.
"""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case

# line 20 takes 300 of 1000 µs, line 21 the other 500 of torch
TIMELINE = """
main  0    1000  step  ProfilerStep#1
main  0    300   mark  call@20
main  0    300   op    aten::cat
main  300  500   mark  call@21
main  300  500   op    aten::mm
"""
CALLS = "0  300  20  torch: cat"


@pytest.mark.parametrize(
    ("line_ns", "ms"),
    [
        (200, 0.3 / 2),  # half of the line's calls, 100 of 200 ns
        (None, 0.8 / 10),  # 100 ns of 1000 in torch
        (50, 0.8 / 10),  # told of a line that calls others
    ],
)
def test_a_part_of_what_the_lines_operators_take(line_ns: int | None, ms: float) -> None:
    line = {"file": "/job/train.py", "line": 20, "function": "main", "call_count": 1, "ns": 100}
    line |= {"trained_ns": 0, "left_ns": 0} | ({} if line_ns is None else {"line_ns": line_ns})
    seen = {"calls_ns": 1000, "backward_ns": 0, "trained_ns": 0, "at_once": [], "shifted": [line]}
    case = {"facts": {"dataflow": seen}, "timeline": TIMELINE, "calls": CALLS}
    assert measured_case(case).number("buffers_shifted_ms") == pytest.approx(ms)
