"""One script against another, run in turns as `verify` runs a script with and
without a fix, without the recorder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diagnose.run.settings import Target
from diagnose.verify import statistics
from diagnose.verify.deadline import Deadline, OutOfTime
from diagnose.verify.lengths import fitted
from diagnose.verify.paired import Arm, TrialRunner
from diagnose.verify.store import Store
from diagnose.verify.trial import Job, TrialSettings

PRECISION = 0.05
# of the steps timed in each run: shorter than those of `verify`, for there are more comparisons
RUN_MS, FEWEST_STEPS, MOST_STEPS = (600, 20, 300)
UNTIMED_STEPS, TIMEOUT_S = 10, 300


def arm(script: Path, specs: Sequence[dict[str, Any]] = ()) -> Arm:
    folder = str(script.parent)
    return Arm(Job(Target(script.name, False, ()), folder, folder, sys.executable), tuple(specs))


def compare_arms(before: Path, after: Path, step_ms: float, folder: Path, budget_s: float) -> dict[str, Any]:
    """The verdict on the change from one script to the other, with the numbers it rests on: ``pairs``,
    ``change``, ``low``, ``high``, ``noise``, ``before_ms``, ``after_ms`` (see `statistics.Comparison`).
    ``step_ms`` is about what a step takes. Only the verdict where the time was not enough. Raises RunFailed.
    """
    deadline = Deadline.after(budget_s)
    steps = max(FEWEST_STEPS, min(MOST_STEPS, round(RUN_MS / step_ms)))
    bench = TrialRunner(
        Store(folder),
        TrialSettings(steps + UNTIMED_STEPS, UNTIMED_STEPS, 1, timeout_s=TIMEOUT_S),
        lambda label: None,
    )
    try:
        first = bench.once(arm(before), before.stem, deadline)
    except OutOfTime:
        return {"verdict": "too few runs"}
    bench = bench.with_settings(fitted(bench.settings, first))
    outcome = bench.compare_arms(arm(before), arm(after), PRECISION, deadline, after.stem)
    if outcome is None:
        return {"verdict": "too few runs"}
    return {"verdict": statistics.verdict(outcome.comparison, PRECISION), **asdict(outcome.comparison)}


def in_words(result: dict[str, Any]) -> str:
    """`faster: −31.2 to −28.1 %`: the verdict and the interval of the change."""
    said = str(result["verdict"]).replace("_", " ")
    return f"{said}, {100 * result['low']:+.1f} to {100 * result['high']:+.1f} %" if "low" in result else said
