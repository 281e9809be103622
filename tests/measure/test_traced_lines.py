"""Lines timed by themselves, on a step of 1000 µs worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.account import account
from diagnose.measure.lines import line_costs
from diagnose.measure.measured import FACT_SELECTORS, Measured
from diagnose.measure.sources import Sources
from diagnose.measure.traced_lines import _adding_up_to, own_times

# 600 µs of forward at line 9, 400 µs of Python: line 41 calls something for 100 of them.
STEP = """
main  0    1000  step  ProfilerStep#1
main  0    600   mark  forward@9
main  10   580   op    aten::mm
"""
CALLS = "600  100  41  a.py: f\n0  600  9  torch/nn/modules/module.py: _wrapped_call_impl"


def line(number: int, us: float, part: str = "", count: int = 1, library_calls: int = 0) -> dict[str, Any]:
    return {
        "file": "/job/train.py",
        "line": number,
        "function": "main",
        "part": part,
        "ns": us * 1000,
        "count": count,
        "library_calls": library_calls,
    }


def timed(*lines: dict[str, Any], event_ns: float = 0, library_call_ns: float = 0) -> Measured:
    told = {"steps": 1, "event_ns": event_ns, "library_call_ns": library_call_ns, "lines": list(lines)}
    return measured_case({"timeline": STEP, "calls": CALLS, "facts": {"line_times": told}})


def us(one: Measured) -> dict[int, float]:
    return {number: round(own.ms * 1000, 3) for (_, number), own in own_times(one).items()}


def costs(name: str, one: Measured) -> dict[int, float]:
    """Line → µs per step."""
    places = FACT_SELECTORS[name].places(one)
    return {place.line: round((place.ms_per_step or 0.0) * 1000, 3) for place in places}  # type: ignore[union-attr]


LINES = (line(9, 600, "forward"), line(41, 100), line(44, 260), line(45, 40))


def test_a_line_that_calls_nothing_is_named_with_what_it_takes() -> None:
    one = timed(*LINES)
    assert costs("own_lines", one) == {41: 100, 44: 260}  # 45 takes less than 5 %
    assert costs("other_python", one) == {-1: 40}
    assert one.metric("own_line_share") == pytest.approx(0.26)
    assert one.metric("own_lines_callee") == "its own arithmetic and indexing"


def test_a_line_that_takes_longer_than_its_calls_has_all_of_it() -> None:
    # Line 41 calls for 100 µs, and takes 300: 200 more in the result's release and arithmetic.
    assert costs("own_lines", timed(line(9, 600, "forward"), line(41, 300), line(44, 100))) == {
        41: 300,
        44: 100,
    }


def test_a_comprehension_is_a_function_of_its_own_on_the_same_line() -> None:
    """Line 41 stacks for 20 µs what its comprehension has made in 280, of which it draws for 60: of its 300
    nothing is left beside.
    """
    one = timed(line(9, 600, "forward"), line(41, 300), line(44, 100))
    calls = one.recording.calls
    calls |= {
        "functions": ["main", "<listcomp>"],
        "callees": ["/job/train.py: <listcomp>", "numpy: choice", "numpy: stack"],
        "file": [0] * 3,
        "function": [0, 1, 0],
        "tid": [0] * 3,
        "line": [41] * 3,
        "callee": [0, 1, 2],
        "start_ns": [calls["start_ns"][0] + ns for ns in (0, 1_000, 290_000)],
        "dur_ns": [280_000, 60_000, 20_000],
    }
    again = Measured(replace(one.recording, calls=calls))
    assert sum(costs("own_lines", again).values()) == pytest.approx(400, abs=20)
    assert costs("own_lines", again)[41] == pytest.approx(300, abs=20)


def test_a_line_that_another_rule_is_about_is_that_rules() -> None:
    """Line 41 sleeps: for 100 µs in the recorded step, for 300 while lines were timed."""
    told = {
        "steps": 1,
        "event_ns": 0,
        "library_call_ns": 0,
        "lines": [line(9, 600, "forward"), line(41, 400)],
    }
    calls = CALLS.replace("a.py: f", "<built-in function sleep>")
    one = measured_case({"timeline": STEP, "calls": calls, "facts": {"line_times": told}})
    assert costs("own_lines", one) == {}


def test_the_account_of_python_is_by_line() -> None:
    (python,) = (row for row in account(timed(*LINES)) if row.row == "python")
    spent = {spender.name.line: spender.ns for spender in python.spenders}
    assert spent == {41: 100_000, 44: 260_000, 45: 40_000}


def test_the_table_of_lines_has_them() -> None:
    table = {
        cost.line: (round(cost.self_ms, 6), round(cost.total_ms, 6)) for cost in line_costs(timed(*LINES))
    }
    assert table == {9: (0.6, 0.6), 41: (0.1, 0.1), 44: (0.26, 0.26), 45: (0.04, 0.04)}


def test_what_being_told_cost_comes_off() -> None:
    # 1,000 × 0.1 µs of line 44, and 10 × 1 µs of line 41
    one = timed(
        line(9, 600, "forward"),
        line(41, 110, count=0, library_calls=10),
        line(44, 400, count=1000),
        event_ns=100,
        library_call_ns=1000,
    )
    assert us(one) == {9: 600, 41: 100, 44: 300}


def test_a_part_takes_what_the_ledger_says_and_the_rest_what_is_left() -> None:
    # The forward took three times as long while it was traced.
    assert us(timed(line(9, 1800, "forward"), line(41, 100), line(44, 300))) == {9: 600, 41: 100, 44: 300}


def test_what_is_too_long_comes_off_the_lines_that_were_slowed() -> None:
    assert _adding_up_to(6.0, np.array([4.0, 4.0]), np.array([1.0, 0.0])).tolist() == [2, 4]
    # no more than half of it, then all in proportion
    assert _adding_up_to(3.0, np.array([4.0, 4.0]), np.array([1.0, 0.0])).tolist() == [1, 2]


def under_41(*us: float) -> dict[int, float]:
    """What is told of 400 µs under line 41, which calls `score`, whose lines from 70 on take these times."""
    told = {
        "steps": 1,
        "event_ns": 0,
        "library_call_ns": 0,
        "lines": [
            line(9, 600, "forward"),
            line(41, 400 - sum(us)),
            *({**line(70 + at, time), "function": "score"} for at, time in enumerate(us)),
        ],
    }
    calls = CALLS.replace("600  100  41  a.py: f", f"600  {sum(us)}  41  /job/train.py: score")
    one = measured_case({"timeline": STEP, "calls": calls, "facts": {"line_times": told}})
    return costs("own_lines", one)


def test_lines_in_a_function_that_a_line_calls_are_told_where_they_take_most() -> None:
    assert under_41(390) == {70: 390}
    assert under_41(180, 160, 30) == {70: 180, 71: 160}  # 72 takes less than 5 %
    assert under_41(210) == {70: 210, 41: 190}
    assert under_41(*[40] * 9) == {41: 400}  # many small ones


LOOP = """def score(pictures):
    found = []
    for picture in pictures:
        for pixel in picture:
            found.append(pixel * 2)
    return sum(found)
"""


def scoring(monkeypatch: pytest.MonkeyPatch, *us: float) -> dict[int, float]:
    """What is told of 400 µs under line 41, which calls `score`, whose lines take these times."""
    monkeypatch.setattr(Sources, "lines", lambda _, file: LOOP.splitlines())
    told = {
        "steps": 1,
        "event_ns": 0,
        "library_call_ns": 0,
        "lines": [
            line(9, 600, "forward"),
            line(41, 400 - sum(us)),
            *(
                {**line(number, time), "function": "score"}
                for number, time in zip((3, 4, 5, 6), us, strict=True)
            ),
        ],
    }
    calls = "600  100  41  a.py: f\n0  600  9  torch/nn/modules/module.py: _wrapped_call_impl"
    calls = calls.replace("600  100  41  a.py: f", f"600  {sum(us)}  41  /job/train.py: score")
    return costs(
        "own_lines", measured_case({"timeline": STEP, "calls": calls, "facts": {"line_times": told}})
    )


def test_a_loop_inside_is_told_by_the_line_that_begins_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scoring(monkeypatch, 10, 170, 180, 30) == {4: 350}  # of 400: nearly all
    assert scoring(monkeypatch, 10, 140, 130, 110) == {4: 270, 6: 110}
    assert scoring(monkeypatch, 120, 110, 100, 60) == {3: 330}  # the outer one has nearly all
    assert scoring(monkeypatch, 10, 80, 80, 200) == {41: 400}  # half at line 6


def test_without_times_all_is_as_it_was() -> None:
    one = measured_case({"timeline": STEP, "calls": CALLS})
    assert own_times(one) == {}
    assert costs("own_lines", one) == {41: 100}


def test_a_fetch_is_by_the_lines_of_the_data_set() -> None:
    """400 µs of loading: 300 on line 70, 60 on line 71 and 40 in the loader, which the loop's line asks."""
    step = """
main  0    1000  step  ProfilerStep#1
main  0    400   mark  next@8
main  400  590   mark  forward@9
main  410  570   op    aten::mm
"""
    told = {
        "steps": 1,
        "event_ns": 0,
        "library_call_ns": 0,
        "lines": [
            line(8, 10),
            line(8, 40, "next"),
            line(70, 300, "next"),
            line(71, 60, "next"),
            line(9, 590, "forward"),
        ],
    }
    calls = "0  400  8  torch/utils/data/dataloader.py: __next__\n10  90  71  numpy/lib.py: clip"
    one = measured_case({"timeline": step, "calls": calls, "facts": {"line_times": told}})
    assert costs("slow_item_line", one) == {70: 300}
    assert one.metric("slow_item_fetch_share") == pytest.approx(0.75)
    assert one.metric("slow_item_callee") == "its own arithmetic and indexing"
    (wait,) = (row for row in account(one) if row.row == "input_wait")
    spent = {spender.name.line: (spender.ns, round(spender.host_share, 3)) for spender in wait.spenders}
    assert spent == {70: (300_000, 0.75), 71: (60_000, 0.15), 8: (40_000, 0.1)}
