"""How many steps a run has, by what the first one took."""

from __future__ import annotations

import math
from typing import Any

import pytest

from diagnose.verify.lengths import LEAST_STEPS, PROBE_SHARE, fitted, probe, within
from diagnose.verify.trial import TrialSettings

ASKED = TrialSettings(steps=220, untimed_steps=20, ticks_per_step=1)


def ran(steps: int, step_ms: float, start_s: float, ended: str = "stopped") -> dict[str, Any]:
    ticks = [int(number * step_ms * 1e6) for number in range(steps)]
    wall_s = start_s + (steps - 1) * step_ms / 1000
    return {"tick_ns": ticks, "device_ms": None, "wall_s": wall_s, "ended": ended}


def test_the_first_run_takes_a_part_of_the_budget() -> None:
    probing = probe(ASKED, 60.0)
    assert (probing.most_s, probing.at_least) == (60 * PROBE_SHARE, LEAST_STEPS)
    assert probe(ASKED, math.inf) == ASKED


@pytest.mark.parametrize(
    ("left_s", "fixes", "steps"),
    [
        # one fix takes 10 runs: the 85 s of 100 that are planned are 8.5 s each, 7.5 s after the start
        (100.0, 1, 75),
        (100.0, 3, 20),  # 85 ÷ 28 runs are 3.04 s, 2.04 s after the start
        (100.0, 4, 12),  # 85 ÷ 37 runs are 2.30 s, 1.30 s after the start
        (100.0, 6, 12),  # 55 runs of 1.5 s and 46 of 1.85 s are too short: those of four fixes
        (10_000.0, 3, 220),
        (5.0, 1, 10),  # as few as can be
        (math.inf, 3, 220),
    ],
)
def test_runs_are_as_long_as_the_budget_allows(left_s: float, fixes: int, steps: int) -> None:
    """Steps that were 10 ms when they were recorded take 100 ms now, and the script 1 s to begin."""
    planned = within(ASKED, ran(16, 100.0, 1.0), left_s, fixes, 9)
    assert planned.steps == steps
    assert 1 <= planned.untimed_steps <= planned.steps // 3


def test_a_long_start_is_worth_some_steps() -> None:
    # a quarter of 8 s are 2 s, 100 steps of 20 ms
    assert within(ASKED, ran(50, 20.0, 8.0), 20.0, 1, 9).steps == 100


def test_a_script_that_ended_by_itself_has_no_more_steps() -> None:
    assert fitted(ASKED, ran(30, 10.0, 1.0, "finished")).steps == 29
    assert fitted(ASKED, ran(30, 10.0, 1.0, "stopped")).steps == 220
