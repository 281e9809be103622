"""What calls take that the look at the dataflow tells of, by the operators of their lines, worked out by
hand.
"""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import FACT_SELECTORS, Measured
from diagnose.measure.missing import known

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


def of_two_lines(what: str) -> Measured:
    """Line 20's calls take 300 us, of which another way leaves half; line 21's 500 us, and 1.8 of it."""
    lines = [
        {"file": "/job/train.py", "line": line, "function": "main", "call_count": 1, "trained_ns": 0}
        | {"ns": ns, "line_ns": ns, "left_ns": left_ns}
        for line, ns, left_ns in ((20, 300, 150), (21, 500, 900))
    ]
    seen = {"calls_ns": 800, "backward_ns": 0, "trained_ns": 0, "at_once": [], what: lines}
    calls = CALLS + "\n300 500 21 torch: mm"
    return measured_case({"facts": {"dataflow": seen}, "timeline": TIMELINE, "calls": calls})


def test_a_line_that_loses_does_not_hide_what_another_gains() -> None:
    measured = of_two_lines("separable")
    assert [place.line for place in known(FACT_SELECTORS["separable_kernels"].places(measured))] == [20]
    assert measured.number("separable_kernels_ms") == pytest.approx(0.3)
    assert measured.number("separable_kernels_left") == pytest.approx(0.5)
    assert measured.number("separable_kernels_gain_share") == pytest.approx(0.15)


def test_what_changes_a_whole_network_counts_with_what_it_loses() -> None:
    """All of 800 us, of which 150 and 900 are left."""
    measured = of_two_lines("signal_layout")
    assert measured.number("signal_layouts_ms") == pytest.approx(0.8)
    assert measured.number("signal_layouts_left") == 1.0 and measured.number("signal_layouts_gain_share") == 0
