"""Which line makes a slow step slow, on two steps worked out by hand."""

from __future__ import annotations

import pytest

from diagnose.measure.measured import FACT_SELECTORS

from ..timelines import measured_case

TWO_STEPS = """
main  0     2000  step  ProfilerStep#1
main  1100  800   op    aten::mm
main  2000  1000  step  ProfilerStep#2
main  2100  800   op    aten::mm
"""


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ("0  900  41  <built-in function sorted>", 41),  # all that the first step takes beyond the second
        ("0  450  41  <built-in function sorted>", -1),  # less than half of it
        ("0  900  41  <built-in function sorted>\n2000  700  41  <built-in function sorted>", -1),  # the second step has it too
    ],
)
def test_the_line_of_a_slow_step(calls: str, line: int) -> None:
    one = measured_case({"timeline": TWO_STEPS, "calls": calls, "plain_ms": [10] * 10 + [30]})  # the first does not count
    places = FACT_SELECTORS["slow_steps"].places(one)
    assert [(place.line, place.ms_per_step) for place in places] == [(line, 2.0)]  # type: ignore[union-attr]


def test_the_distance_of_slow_steps() -> None:
    assert measured_case({"timeline": TWO_STEPS, "plain_ms": [10, 10, 30, 10, 10, 30, 10, 10, 30]}).metric("slow_step_distance") == 3
