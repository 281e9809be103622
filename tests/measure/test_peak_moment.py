"""Where a recorded step's memory is at its peak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.measured import Measured
from diagnose.measure.peak_moment import peak_rows
from diagnose.measure.recording import Recording

STEPS = """
main  0    100  step  ProfilerStep#1
main  5    10   op    aten::mm
main  20   10   op    aten::relu
main  40   50   op    autograd::engine::evaluate_function: MmBackward0  {"Sequence number": 5, "Fwd thread id": 1}
main  41   10   op    aten::mm
main  60   10   op    aten::mm
main  100  100  step  ProfilerStep#2
main  105  10   op    aten::mm
main  140  50   op    autograd::engine::evaluate_function: MmBackward0  {"Sequence number": 6, "Fwd thread id": 1}
main  141  10   op    aten::mm
main  160  10   op    aten::mm
"""


def at_peak(operator: str, part: str, number: int) -> list[float]:
    """When these operators begin, µs; of four storages of the operator the one at ``number`` is the peak."""
    origins: list[dict[str, Any]] = [{"part": part, "operator": operator}, {"part": "before"}]
    told = {
        "devices": ["cpu"],
        "origins": origins,
        "storages": [[100 if at == number else 1, 2 * at, 2 * at + 1, 0, 0] for at in range(4)],
        "step_ends": [8],
    }
    measured = Measured(Recording(Path("run"), timeline=trace_from_text(STEPS), memory=told))
    assert measured.timeline is not None
    starts = measured.timeline.host["start_ns"].to_numpy()[peak_rows(measured)]
    return [float(start) / 1000 for start in starts]


def test_it_is_as_far_into_the_operators_of_its_name_as_where_it_was_seen() -> None:
    """Of the backward's two the first half is the first one, the second half the second one."""
    assert at_peak("aten.mm.default", "backward", 1) == [41, 141]
    assert at_peak("aten.mm.default", "backward", 2) == [60, 160]


def test_those_of_the_forward_are_others_and_a_step_may_have_none() -> None:
    assert at_peak("aten.mm.default", "forward", 3) == [5, 105]
    assert at_peak("aten.relu.default", "forward", 0) == [20]
    assert at_peak("aten.gelu.default", "forward", 0) == []
    assert at_peak("aten.m(m.default", "forward", 0) == []  # a name, and no pattern


@pytest.mark.parametrize(
    "memory", [{}, {"devices": ["cpu"], "origins": [], "storages": [], "step_ends": [1]}]
)
def test_where_nothing_was_seen_there_is_none(memory: dict[str, Any]) -> None:
    measured = Measured(Recording(Path("run"), timeline=trace_from_text(STEPS), memory=memory))
    assert not len(peak_rows(measured))
