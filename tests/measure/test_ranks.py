"""What a job of several ranks tells about the one that is recorded. Times in µs, metrics in ms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.judge.left import left_of
from diagnose.judge.rules import load_rules
from diagnose.judge.timelines import job_of_four, measured_case
from diagnose.measure.measured import FACT_SELECTORS, Measured
from diagnose.measure.metrics import METRICS
from diagnose.measure.missing import Missing

# A fifth of the step is Python below line 30, the rest operators.
TIMELINE = "main 0 1000 step ProfilerStep#1\nmain 200 800 op aten::mm"
CALLS = "0 200 30 work.py: prepare\n210 700 40 model.py: forward"
OWN_METRICS = (
    "late_pattern",
    "held_up_ms",
    "held_up_share",
    "late_kind",
    "late_part_title",
    "late_rank",
    "late_gain_ms",
    "late_part_left",
)


FACTS = {"cpu_core_count": 4}


def late(cause: str | None = "python", cause_ms: float | None = 0.15, held_up_ms: float = 0.1) -> Measured:
    job = {
        "pattern": "persistent",
        "late_rank": 2,
        "held_up_ms": held_up_ms,
        "cause": cause,
        "cause_ms": cause_ms,
    }
    return measured_case({"timeline": TIMELINE, "calls": CALLS, "job": job})


@pytest.mark.parametrize("name", OWN_METRICS)
def test_one_rank_tells_nothing_about_others(name: str) -> None:
    assert name in METRICS
    trace, run = (measured_case({"timeline": TIMELINE, "facts": facts}).metric(name) for facts in ({}, FACTS))
    assert isinstance(trace, Missing) and isinstance(run, Missing)
    assert trace.reason == run.reason == "one rank was recorded"
    assert "FOLDER_OF_ALL_RANKS" in trace.option and "torchrun" in run.option


def test_the_gain_is_what_the_others_wait_and_no_more_than_the_cause_takes() -> None:
    assert late().metric("late_gain_ms") == 0.1
    assert late(cause_ms=0.04).metric("late_gain_ms") == 0.04
    assert isinstance(late(None, None).metric("late_gain_ms"), Missing)


def test_what_is_left_of_the_late_part() -> None:
    # 0.2 ms of Python, of which 0.1 goes
    assert late().metric("late_part_left") == pytest.approx(0.5, abs=0.01)
    saving = load_rules()["late-rank-input"].saving
    assert [left_of(saving, late(), outcome) for outcome in ("best", "guess", "worst")] == pytest.approx(
        [0.5] * 3, abs=0.01
    )
    assert left_of(saving, late(None, None), "guess") == 1.0  # nothing is known to go


def test_parts_of_the_step_by_the_rule_that_knows_them() -> None:
    kinds = {"input_wait": "input", "compute": "kernels", "python": "host", "forward": "host"}
    assert {cause: late(cause).metric("late_kind") for cause in kinds} == kinds
    assert late("compute").metric("late_part_title") == "Compute"


def test_ranks_that_come_last_in_turn_wait_for_whichever_is_last() -> None:
    case = {"timeline": TIMELINE, "job": {"pattern": "rotating", "held_up_ms": 0.3}}
    measured = measured_case(case)
    assert measured.metric("held_up_ms") == 0.3
    assert measured.metric("held_up_share") == pytest.approx(0.3)
    assert measured.metric("late_kind") == "none"


def test_a_late_rank_waits_count_where_it_comes_last_alone() -> None:
    job = job_of_four("persistent", late_rank=2, held_up_ms=0.1)
    # of all ranks, the others' turns included
    measured = Measured(late().recording, replace(job, held_up_ms=5.0))
    assert measured.metric("held_up_ms") == 0.1


def test_the_late_part_is_blamed_on_the_costliest_line_in_it() -> None:
    (place,) = FACT_SELECTORS["late_part"].places(late("python"))
    assert (place.line, place.ms_per_step) == (30, pytest.approx(0.2, abs=0.01))
    (place,) = FACT_SELECTORS["late_part"].places(late("operators"))
    assert (place.line, place.ms_per_step) == (40, pytest.approx(0.8, abs=0.01))
    (place,) = FACT_SELECTORS["late_part"].places(late("compute"))
    assert place.file == ""
    without_lines = Measured(measured_case({"timeline": TIMELINE}).recording, late().job)
    (place,) = FACT_SELECTORS["late_part"].places(without_lines)
    assert (place.file, place.ms_per_step) == ("", pytest.approx(0.2, abs=0.01))
