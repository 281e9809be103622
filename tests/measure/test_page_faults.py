"""Page faults that steps have by themselves and no more once something was recorded, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.measured import Measured
from diagnose.measure.page_faults import PageFaults, kept_away, kept_away_ms
from diagnose.measure.recording import Recording

STEP = "main 0 10000 step ProfilerStep#1\nmain 300 9000 op aten::mm"
MS = 1_000_000


def recording(before: dict[str, float] | None, plain: dict[str, float]) -> Recording:
    """Plain steps of 10 ms."""
    told: dict[str, Any] = {"page_faults_per_step": 20.0, "system_ms_per_step": 1.0, "cpu_cores_used": 2.0}
    facts = {"plain_usage": told | plain, "unrecorded_usage": before}
    phases = [{"name": "plain", "tick_ns": [10 * MS * number for number in range(9)]}]
    return Recording(Path("case"), timeline=trace_from_text(STEP), clock={"phases": phases}, facts=facts)


def usage(faults: float = 5000.0, system_ms: float = 5.0, growth_pages: float = 0.0) -> dict[str, float]:
    return {
        "page_faults_per_step": faults,
        "system_ms_per_step": system_ms,
        "resident_growth_bytes_per_step": 4096 * growth_pages,
    }


def tried(
    told: Recording, *, faults: int, system_ms: float, kept_system_ms: float, kept_ms: float
) -> Recording:
    """With so many page faults in each plain step, for which the system works so long; once all is recorded,
    steps keep their memory by themselves.
    """
    told.facts.update(
        page_fault_series=[faults, 2 * faults, 3 * faults],
        system_series_s=[system_ms / 1e3, 2 * system_ms / 1e3, 3 * system_ms / 1e3],
        memory_series_steps=[1, 2, 3],
        rss_series_bytes=[500_000_000] * 3,
        kept_memory={
            "page_faults": 20,
            "system_ms": 0.0,
            "kept_system_ms": kept_system_ms,
            "as_is_ms": [],
            "changed_ms": [kept_ms] * 8,
        },
    )
    return told


def test_what_the_system_works_less_is_put_back_into_each_step() -> None:
    """5 ms a step before and 1 after, on two cores: 2 ms of a step of 10."""
    told = recording(usage(), {})
    assert kept_away(told) == PageFaults(5000.0, 5.0)
    assert kept_away_ms(told) == pytest.approx(2.0)
    assert Measured(told).metric("step_ms") == pytest.approx(12.0)


def test_pages_by_which_the_process_grew_are_needed_anyway() -> None:
    """A fifth of 5,000: 4,000 are left, and four fifths of 5 ms."""
    told = recording(usage(growth_pages=1000.0), {"cpu_cores_used": 0.4})
    assert kept_away(told) == PageFaults(4000.0, pytest.approx(4.0))
    assert kept_away_ms(told) == pytest.approx(3.0)


def test_what_was_put_back_is_what_keeping_memory_saves() -> None:
    """2 of 12 ms, however long the trial's steps took: neither they nor the plain ones had such faults."""
    told = tried(recording(usage(), {}), faults=20, system_ms=1.0, kept_system_ms=0.5, kept_ms=7.0)
    assert Measured(told).metric("kept_memory_gain_share") == pytest.approx(2 / 12)


def test_steps_that_were_timed_apart_save_what_the_system_works_less() -> None:
    """4 ms a step on two cores: 2 of 10 ms. Steps that keep their memory, timed later, took half as long."""
    told = recording(None, {"page_faults_per_step": 3000.0})
    tried(told, faults=3000, system_ms=4.0, kept_system_ms=0.0, kept_ms=5.0)
    assert Measured(told).metric("kept_memory_gain_share") == pytest.approx(2 / 10)


@pytest.mark.parametrize(
    ("before", "plain"),
    [
        (None, {}),  # recorded at once
        (usage(), {"page_faults_per_step": 4000.0}),  # plain steps have them, too
        (usage(faults=1900.0), {}),  # few
        (usage(growth_pages=3500.0), {}),  # a process that grows
    ],
)
def test_nothing_is_put_back(before: dict[str, float] | None, plain: dict[str, float]) -> None:
    told = recording(before, plain)
    assert kept_away(told) is None
    assert Measured(told).metric("step_ms") == pytest.approx(10.0)
