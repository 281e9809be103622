"""Calls of a loop that could be one, by the line of the loop."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.rules import load_rules
from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.at_once import WORTH_REWRITING
from diagnose.measure.areas.model import CALLS_AT_LEAST
from diagnose.measure.measured import FACT_SELECTORS, Measured

FILE = "/job/train.py"
LOOP = {"file": FILE, "line": 9, "function": "main"}
STEP = f"""
main  0    1000  step  ProfilerStep#1
main  100  200  python  {FILE}(20): forward
main  100  10    op    aten::sub  {{"repeat": 10, "every": 20}}
main  300  100  python  {FILE}(21): forward
main  300  10    op    aten::mul  {{"repeat": 10, "every": 10}}
main  500  400   op    aten::mm
"""
CALLS = "100  200  20  torch/functional.py: sub\n300  100  21  torch/functional.py: mul"


def line(number: int, ns: int, **told: Any) -> dict[str, Any]:
    place = {"file": FILE, "line": number, "function": "forward"}
    return place | {"rounds": 10, "call_count": 10, "ns": ns, "line_ns": ns} | told


def looped(*lines: dict[str, Any], timed_us: int | None = None) -> Measured:
    """``timed_us``: what line 20 takes by itself, of steps of 1000 µs; None where lines were not timed."""
    told = {"calls_ns": 1000, "backward_ns": 0, "trained_ns": 0, "at_once": list(lines), "again": []}
    facts: dict[str, Any] = {"dataflow": told}
    if timed_us is not None:
        times = {"file": FILE, "function": "forward", "part": "", "count": 1, "library_calls": 0}
        of_lines = [
            times | {"line": 20, "ns": timed_us * 1000},
            times | {"line": 30, "ns": 1000_000 - timed_us * 1000},
        ]
        facts["line_times"] = {"steps": 1, "event_ns": 0, "library_call_ns": 0, "lines": of_lines}
    return measured_case({"timeline": STEP, "calls": CALLS, "facts": facts})


def costs(one: Measured) -> dict[int, float]:
    places = FACT_SELECTORS["calls_at_once"].places(one)
    return {place.line: round((place.ms_per_step or 0) * 1000) for place in places}  # type: ignore[union-attr]


def test_lines_of_one_loop_are_told_together_at_the_loop() -> None:
    """Each line's calls take 100 µs, and as much again is what its Python takes between them at line 20."""
    alone = costs(looped(line(20, 100), line(21, 100)))
    assert list(alone) == [20, 21]  # costliest first
    assert costs(looped(line(20, 100, loop=LOOP), line(21, 100, loop=LOOP))) == {9: sum(alone.values())}
    assert costs(looped(line(20, 100), line(21, 100, loop=LOOP))) == {20: alone[20], 9: alone[21]}


def test_what_is_left_of_a_loop_is_weighed_by_its_lines() -> None:
    """A call of 10 µs is all cost of the call, of which ten rounds leave a tenth; of products that a trial
    leaves whole, nothing is saved.
    """
    tried = {"product_count": 10, "product_ns": 100, "product_left_ns": 100}
    ms = costs(looped(line(20, 100), line(21, 100)))
    left = looped(line(20, 100, loop=LOOP), line(21, 100, loop=LOOP, **tried)).metric("calls_at_once_left")
    assert left == pytest.approx((0.1 * ms[20] + ms[21]) / (ms[20] + ms[21]), abs=0.01)


def test_python_between_the_calls_of_a_loop_is_part_of_it() -> None:
    """Line 20 takes 400 µs by itself, of which its calls are 200; half of it is of calls that could be one."""
    recorded = costs(looped(line(20, 100)))[20]
    assert costs(looped(line(20, 100), timed_us=400))[20] == 400 > recorded
    assert costs(looped(line(20, 100, line_ns=200), timed_us=400))[20] == 200
    assert costs(looped(line(20, 100), timed_us=50))[20] == recorded


def test_tiny_operators_are_left_to_loops_that_are_told() -> None:
    (condition,) = load_rules()["loop-to-batch"].when
    assert (condition.metric, condition.value) == ("calls_at_once_gain_share", WORTH_REWRITING)


def test_lines_call_a_model_for_samples_in_turn_as_often_as_the_rule_asks() -> None:
    values = {condition.metric: condition.value for condition in load_rules()["forward-per-sample"].when}
    assert values["calls_per_sample_count_per_step"] == CALLS_AT_LEAST


def test_what_a_loop_of_layers_does_beside_them_goes_with_them() -> None:
    """Line 20 slices what each of ten layers is given: half of its calls' 100 ns are the layers, of which a
    fifth is left.
    """
    layers = line(20, 50, line_ns=100, trained_ns=0, left_ns=10)
    of_slices = looped(line(20, 50, line_ns=100))
    alone, both = looped(), looped(line(20, 50, line_ns=100))
    for one in (alone, both):
        one.recording.facts["dataflow"]["members"] = [layers]
    slices_ms = costs(of_slices)[20] / 1000
    saved_ms = slices_ms * (1 - of_slices.number("calls_at_once_left"))
    gain = alone.number("members_in_turn_gain_share")
    assert gain > 0 and alone.metric("members_in_turn_left") == pytest.approx(0.2)
    assert both.metric("members_in_turn_gain_share") == pytest.approx(gain + saved_ms)  # of a step of 1 ms
    (place,) = FACT_SELECTORS["members_in_turn"].places(both)
    assert place.ms_per_step == pytest.approx(gain / 0.8 + slices_ms)
