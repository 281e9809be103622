"""Two sides held against each other: the paired comparison that `verify` uses, between two jobs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from diagnose.errors import DiagnoseError
from diagnose.verify import statistics
from diagnose.verify.deadline import Deadline, OutOfTime
from diagnose.verify.lengths import LEAST_STEPS, TIMED_S, TIMED_STEPS, UNTIMED_S, UNTIMED_STEPS, fitted
from diagnose.verify.paired import Arm, NotComparable, Outcome, RunFailed, Runner, TrialRunner, ending
from diagnose.verify.results import Results, results
from diagnose.verify.sides import Side
from diagnose.verify.statistics import Comparison
from diagnose.verify.store import Store
from diagnose.verify.timing import Trial, step_ms
from diagnose.verify.trial import TrialSettings, run_trial

START_S = 600.0  # a script may take so long to begin
Decision = Literal["slower", "not_slower", "unclear"]


@dataclass(frozen=True)
class Held:
    """``comparison``: of B with A; ``work``: the same of processor time, None where it is not known.
    ``verdict``: as of `verify`. ``decision``: whether B is slower than A by more than the tolerance.
    ``bound``: not slower is by no more than this; ``pairs_needed``: for a decision that is unclear, about
    how many pairs there would have to be.
    """

    comparison: Comparison
    work: Comparison | None
    verdict: statistics.Verdict
    decision: Decision
    bound: float
    pairs_needed: int
    results: Results
    steps: int


def held_against(
    before: Side,
    after: Side,
    folder: Path,
    *,
    precision: float,
    tolerance: float,
    deadline: Deadline,
    tell: Callable[[str], None],
    run: Runner = run_trial,
) -> Held:
    """Runs of both sides in turns, each in a fresh process and without a profiler, until the change is known
    to ± ``precision`` and held against the ``tolerance``, or the time is up. Raises DiagnoseError where a
    side cannot be run, or there was no time for two pairs; Interrupted.
    """
    arms = [Arm(before.job), Arm(after.job)]
    probing = TrialRunner(Store(folder, fresh=True), _probe(), tell, run)
    try:
        firsts = [
            probing.once(arm, f"{name}, to see how long its steps take", deadline)
            for arm, name in zip(arms, (before.name, after.name), strict=True)
        ]
        for first, side in zip(firsts, (before, after), strict=True):
            _check_own_code(first, side)
        settings = _settings(firsts)
        outcome = probing.with_settings(settings).compare_arms(
            arms[0],
            arms[1],
            precision,
            deadline,
            "A/B",
            names=(before.name, after.name),
            enough=partial(_is_decided, tolerance=tolerance),
        )
    except RunFailed as failed:
        raise DiagnoseError("a side cannot be run", saw=ending(failed.trial)) from failed
    except NotComparable as reason:
        raise DiagnoseError("the two sides cannot be compared", saw=str(reason)) from reason
    except OutOfTime as error:
        raise DiagnoseError("there was no time for a run of both sides", do="allow more: --budget") from error
    if outcome is None:
        raise DiagnoseError("there was no time for two pairs of runs", do="allow more: --budget")
    return _held(outcome, precision, tolerance, settings.steps)


def _check_own_code(trial: Trial, side: Side) -> None:
    """Raises DiagnoseError for a side that imports the code of another checkout."""
    if foreign := trial.get("foreign_files"):
        raise DiagnoseError(
            f"{side.name} does not run its own code",
            saw=f"it imports {foreign[0]}, which is not in its checkout",
            do="let the script find its package from its own place: no editable install or absolute path",
        )


def _probe() -> TrialSettings:
    """Of steps of unknown length: as many as take the time that a run times."""
    return TrialSettings(
        steps=UNTIMED_STEPS[1] + TIMED_STEPS[1],
        untimed_steps=1,
        ticks_per_step=1,
        timeout_s=START_S,
        most_s=UNTIMED_S + TIMED_S,
        at_least=LEAST_STEPS,
    )


def _settings(firsts: list[Trial]) -> TrialSettings:
    """The same number of steps for both sides. Raises DiagnoseError where one has too few."""
    step_s = max(float(_later_half(trial).mean()) for trial in firsts) / 1000
    timed = min(TIMED_STEPS[1], max(TIMED_STEPS[0], math.ceil(TIMED_S / step_s)))
    untimed = min(UNTIMED_STEPS[1], max(UNTIMED_STEPS[0], math.ceil(UNTIMED_S / step_s)))
    settings = TrialSettings(steps=untimed + timed, untimed_steps=untimed, ticks_per_step=1)
    for trial in firsts:
        settings = fitted(settings, trial)
    return settings


def _later_half(trial: Trial) -> np.ndarray:
    steps = step_ms(trial, 1)
    return steps[len(steps) // 2 :]


def _held(outcome: Outcome, precision: float, tolerance: float, steps: int) -> Held:
    found = outcome.comparison
    decision = decided(found, tolerance, precision)
    return Held(
        comparison=found,
        work=outcome.work,
        verdict=statistics.verdict(found, precision),
        decision=decision,
        bound=bound_of(tolerance, precision),
        pairs_needed=pairs_needed(found, bound_of(tolerance, precision)) if decision == "unclear" else 0,
        results=results(outcome.before[0], outcome.before[1], outcome.after[0]),
        steps=steps,
    )


def _is_decided(c: Comparison, precision: float, tolerance: float) -> bool:
    return statistics.is_clear(c, precision) and decided(c, tolerance, precision) != "unclear"


def bound_of(tolerance: float, precision: float) -> float:
    """What B may be slower by at most to count as not slower: no less than can be measured at all."""
    return max(tolerance, precision, statistics.LEAST_EFFECT)


def decided(c: Comparison, tolerance: float, precision: float) -> Decision:
    """Slower: all of the interval is above the tolerance, and the change beyond the noise floor. Not slower:
    none of it is above the bound.
    """
    looked = c.pairs + c.outliers >= statistics.LOOKS[0]
    if looked and c.low > tolerance and c.change - tolerance > max(c.noise, statistics.LEAST_EFFECT):
        return "slower"
    return "not_slower" if c.high <= bound_of(tolerance, precision) else "unclear"


def pairs_needed(c: Comparison, bound: float) -> int:
    """Until an interval around the same change would leave the bound out: its width falls with the root of
    their number. A change right at the bound never does: 1,000 at most.
    """
    half, distance = (c.high - c.low) / 2, abs(c.change - bound)
    if distance * math.sqrt(1000 / max(c.pairs, 1)) <= half:
        return 1000
    return max(c.pairs + 1, round(c.pairs * (half / distance) ** 2))
