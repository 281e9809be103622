"""How many steps a run of a comparison has."""

from __future__ import annotations

import math
from dataclasses import replace

from diagnose.document.measurements import REFUTED
from diagnose.document.model import Document, Finding
from diagnose.document.queries import metric
from diagnose.errors import DiagnoseError
from diagnose.run.settings import FEWEST_STEPS
from diagnose.verify.timing import Trial, step_ms
from diagnose.verify.trial import TrialSettings

# Of one run: steps that are not timed (and whose batches are hashed), and steps that are.
UNTIMED_S, UNTIMED_STEPS = 0.5, (3, 20)
TIMED_S, TIMED_STEPS = 2.0, (20, 1000)
LONGEST_RUN_S = 60.0  # of a run's timed steps, unless that would be fewer than FEWEST_STEPS
# A run is ended when it takes that many times as long as the one before; of one nobody knows
# how long the script takes to begin.
GRACE_S, TIMES_LONGER, UNKNOWN_S = 60.0, 5, 600.0
PROBE_SHARE = 0.1  # of the time there is, for the steps of the first run
PLANNED_SHARE = (
    0.85  # of the time there is: some runs take longer, and some are made twice to seed the batches
)
# of a run that was shortened, untimed ones included: so many, and as take that part of what the script needs
# to begin, for that costs as much in any case
LEAST_STEPS, LEAST_OF_START = 10, 0.25
LONGEST_EPOCHS_S = 20.0  # a fix of what happens once an epoch needs two of them, if that is not too long


def settings_for(document: Document, wanted_steps: int | None) -> TrialSettings:
    """How many steps a run has, by how long the recorded run's were if nobody says."""
    steps = document.steps
    known = steps.plain_ms or steps.timeline_ms
    if known is None or not known.median > 0:
        raise DiagnoseError(
            "No step of this run was timed, so there is nothing to compare.",
            do="record the script again, with more steps",
        )
    step_s = known.median / 1000
    timed = _between(math.ceil(TIMED_S / step_s), TIMED_STEPS)
    if (epoch := _epoch_steps(document)) and 2 * epoch * step_s <= LONGEST_EPOCHS_S:
        timed = max(timed, 2 * epoch)
    timed = wanted_steps or max(FEWEST_STEPS, min(timed, math.ceil(LONGEST_RUN_S / step_s)))
    untimed = _between(math.ceil(UNTIMED_S / step_s), UNTIMED_STEPS)
    limit_s = GRACE_S + TIMES_LONGER * (document.run.wall_s or UNKNOWN_S)
    return TrialSettings(
        steps=untimed + timed, untimed_steps=untimed, ticks_per_step=steps.ticks_per_step, timeout_s=limit_s
    )


def shortest_run_s(document: Document, settings: TrialSettings) -> float:
    """What a run takes at least, however the script begins: its steps alone, or all of a script that has
    fewer.
    """
    known = document.steps.plain_ms or document.steps.timeline_ms
    steps_s = settings.steps * known.median / 1000 if known else 0.0
    return min(steps_s, document.run.wall_s or steps_s)


def _epoch_steps(document: Document) -> int:
    """The steps of an epoch where the plan has something to mend that does not happen in every step; else
    0.
    """
    if not any(_is_planned(finding) and finding.saving.scope == "average" for finding in document.findings):
        return 0
    epoch = metric(document, "epoch_step_count")
    return int(epoch) if epoch else 0


def _is_planned(finding: Finding) -> bool:
    """Also if an earlier verification took it out of the plan: the length of runs is not to change by it."""
    return finding.group == "plan" or finding.saving.verdict in REFUTED


def probe(settings: TrialSettings, left_s: float) -> TrialSettings:
    """For the first run, of which nobody knows how long its steps take today: it takes a part of the time
    there is.
    """
    if math.isinf(left_s):
        return settings
    return replace(settings, most_s=PROBE_SHARE * left_s, at_least=LEAST_STEPS)


def within(
    settings: TrialSettings, first: Trial, left_s: float, fixes: int, runs_of_fix: int
) -> TrialSettings:
    """Fewer steps in each run, where the time left would not hold so many runs of each fix; of as many of the
    first fixes as it can hold with the fewest steps.
    """
    steps_s = step_ms(first, settings.ticks_per_step) / 1000
    step_s = float(steps_s[len(steps_s) // 2 :].mean())
    start_s = max(0.0, first["wall_s"] - float(steps_s.sum()))
    least = min(settings.steps, max(LEAST_STEPS, int(LEAST_OF_START * start_s / step_s)))
    for count in range(fixes, 0, -1):
        run_s = PLANNED_SHARE * left_s / (1 + count * runs_of_fix)
        steps = int(min((run_s - start_s) / step_s, settings.steps))
        if steps >= least:
            return replace(settings, steps=steps, untimed_steps=_untimed(settings, steps))
    return replace(settings, steps=least, untimed_steps=_untimed(settings, least))


def _untimed(settings: TrialSettings, steps: int) -> int:
    return min(settings.untimed_steps, max(1, steps // 3))


def _between(number: int, bounds: tuple[int, int]) -> int:
    return max(bounds[0], min(number, bounds[1]))


def fitted(settings: TrialSettings, first: Trial) -> TrialSettings:
    """Settings for a script that has fewer steps than wanted, and a limit for runs that hang.

    Raises DiagnoseError if it is too short.
    """
    limit_s = GRACE_S + TIMES_LONGER * first["wall_s"]
    there = len(step_ms(first, settings.ticks_per_step)) + 1
    if there >= settings.steps or first["ended"] == "stopped":  # by us: by then it had taken its time
        return replace(settings, timeout_s=limit_s)
    steps = there - 1  # not its very last one
    untimed = _untimed(settings, steps)
    if steps - untimed < FEWEST_STEPS:
        raise DiagnoseError(
            f"The script ends after {there} steps: too few to compare runs.", do="let it train for more steps"
        )
    return replace(settings, steps=steps, untimed_steps=untimed, timeout_s=limit_s)
