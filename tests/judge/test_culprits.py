"""Lines to blame, from facts."""

from __future__ import annotations

from diagnose.judge.culprits import Culprit, culprits
from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import FactPlace, FactSelector
from diagnose.measure.metrics import SELECTORS

STEP = measured_case({"timeline": "main  0  100  step  ProfilerStep#1\nmain  10  10  op  aten::mm"})


def test_places_on_one_line_are_one_culprit_the_costliest_first() -> None:
    places = [
        FactPlace("a.py", 5, "f", 1.0, 2.0),
        FactPlace("a.py", 9, "f", 1.0, 2.5),
        FactPlace("a.py", 5, "f", 0.5, 1.0),
    ]
    found = culprits(STEP, FactSelector("s", "", lambda measured: places), 5.5)
    assert found == (Culprit("a.py", 5, "f", 1.5, 3.0), Culprit("a.py", 9, "f", 1.0, 2.5))


def test_lines_take_together_no_more_than_their_finding() -> None:
    """Of 6 ms that facts tell 4 are left by what the finding is part of."""
    places = [FactPlace("a.py", 5, "f", 1.0, 4.5), FactPlace("a.py", 9, "f", 1.0, 1.5)]
    found = culprits(STEP, FactSelector("s", "", lambda measured: places), 4.0)
    assert [culprit.ms_per_step for culprit in found] == [3.0, 1.0]


def test_a_place_without_a_file_is_no_culprit() -> None:
    assert (
        culprits(STEP, FactSelector("s", "", lambda measured: [FactPlace("", -1, "", 1.0, None)]), 0.0) == ()
    )


def test_kernels_alone_have_no_line() -> None:
    """A trace without a host (found by a generated one)."""
    kernels = measured_case({"timeline": "gpu  0  1  kernel  gemm"})
    assert culprits(kernels, SELECTORS["kernels"], 0.001) == ()


def test_a_line_takes_its_own_time_and_none_of_the_other_steps_lines() -> None:
    """Line 20 prints 1 ms in each of six steps, line 50 6 ms in every second one: 1 + 3 on average."""
    lines, at = [], 0
    for number in range(6):
        lines += [f"main {at} {16000} step ProfilerStep#{number}", f"main {at} 8000 op aten::mm"]
        lines.append(f"main {at + 8000} 1000 mark repr@20")
        lines += [f"main {at + 9000} 6000 mark repr@50"] * (number % 2)
        at += 16000
    found = culprits(measured_case({"timeline": "\n".join(lines)}), SELECTORS["tensor_prints"], 4.0)
    assert [(one.line, one.ms_per_step) for one in found] == [(50, 3.0), (20, 1.0)]
