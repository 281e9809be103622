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
