"""Which findings are worth acting on, in which order, and what each adds to those before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from diagnose.judge.causes import better_explained
from diagnose.judge.findings import Finding
from diagnose.judge.rules import SAFETIES
from diagnose.judge.terms import SEVERITIES, Group, Severity
from diagnose.measure.measured import Measured
from diagnose.predict.bound import at_most_ms
from diagnose.predict.prediction import Change, Prediction, saved_on_average_ms
from diagnose.predict.saving import Saving, change_of, more_on_average_ms, saving_of
from diagnose.trace.collector import collector_at_rest

Gains = Mapping[str, float]  # by rule, ms per step

# of the step: XProf's "high" and torch_tb_profiler's 5 % for input, used here for all
HIGH_SHARE, MEDIUM_SHARE = (0.20, 0.08)
# of the step: what run-to-run noise takes, whatever the steps differ by (`diagnose.judge.rules.REASONS`)
SMALL_SHARE = 0.05
# of a gain: predictions are not known better than to a tenth, so what differs by less is
# the same, and what is left is nothing
LITTLE = 0.1
SAME = 0.5  # of its gain, that is left after another fix: with less both were about the same


@dataclass(frozen=True)
class Assessed:
    """A finding with what is at stake. ``group``: plan, alternative, minor,
    hypothetical, information; None unless it fires.

    ``of_ms``: the step that ``share`` is of. ``cumulative_ms``: what it gains together with all before it in
    the plan, ms of a plain step, and ``change``, of the recorded steps, to replay it; None where that cannot
    be predicted.
    """

    finding: Finding
    at_most_ms: float | None
    saving: Saving | None
    share: float | None
    severity: Severity | None
    group: Group | None
    because_of: str | None  # the rule that explains the same time better
    alternative_to: str | None = None  # the rule in the plan after whose fix this one gains nothing more
    of_ms: float | None = None
    cumulative_ms: float | None = None
    change: Change | None = None


@collector_at_rest()
def assess(
    findings: list[Finding],
    measured: Measured,
    prediction: Prediction,
    proven_ms: Mapping[str, float] | None = None,
) -> list[Assessed]:
    """The findings with group and severity; those that fire first, the plan in its
    order, then the largest saving on top.

    ``proven_ms``: what fixes were measured to save, by rule. It outweighs the prediction: 0
    or less is not worth anyone's time.
    """
    proven_ms = proven_ms or {}
    causes = better_explained(findings, measured)
    assessed = [_assessed(finding, causes.get(finding.rule.id), measured, prediction) for finding in findings]
    assessed = [
        replace(one, group="minor") if one.group and proven_ms.get(one.finding.rule.id, 1.0) <= 0 else one
        for one in assessed
    ]
    plan = _planned([one for one in assessed if one.group == "plan"], prediction, measured, proven_ms)
    plan = [_as_alternative(row, plan, prediction, measured) for row in plan]
    order = {"plan": 0, "alternative": 1, "minor": 2, "hypothetical": 3, "information": 4, None: 5}
    rest = [one for one in assessed if one.group != "plan"]
    return [
        *plan,
        *sorted(rest, key=lambda one: (order[one.group], -(one.at_most_ms or 0.0), one.finding.rule.id)),
    ]


def _planned(
    found: list[Assessed], prediction: Prediction, measured: Measured, proven_ms: Mapping[str, float]
) -> list[Assessed]:
    """Greedily, what gains most on top of those before it, of equals the easiest. What then gains less than
    the noise, or little of what it gains alone, is minor; what has no ms comes last, but first of all where
    it is severe all the same: a run whose loss is NaN need not become faster.
    """
    changes = {
        one.finding.rule.id: change
        for one in found
        if one.saving is not None and (change := change_of(one.finding, prediction))
    }
    left = [one for one in found if one.finding.rule.id in changes]
    bounds = {
        one.finding.rule.id: one.at_most_ms or 0.0 for one in found if one.finding.rule.id not in changes
    }
    rest = sorted(
        (one for one in found if one.finding.rule.id in bounds), key=lambda one: _by_gain(one, bounds)
    )
    planned: list[Assessed] = []
    made: list[Change] = []
    total_ms = 0.0
    while left:
        gains = _gains_ms(left, made, changes, prediction)
        gains.update((rule, saved_ms) for rule, saved_ms in proven_ms.items() if rule in gains)
        chosen = _next(left, gains, made, changes, prediction, measured)
        rows, before, before_ms = [], made, total_ms
        for one in chosen:
            change = changes[one.finding.rule.id]
            more_ms = _at_stake(_gain_ms(change, made, prediction), one)
            more_ms += _correction_ms(one, change, prediction, proven_ms)
            made = [*made, change]
            whole_ms = prediction.recorded_ms + saved_on_average_ms(made)
            total_ms += min(max(0.0, more_ms), whole_ms - total_ms)
            rows.append(replace(one, cumulative_ms=total_ms, change=change))
        alone_ms = sum(_gain_ms(changes[one.finding.rule.id], [], prediction) for one in chosen)
        gained_ms = total_ms - before_ms
        noise_ms = max(_noise_ms(one.finding, measured) for one in chosen)
        is_worth_it = gained_ms >= max(noise_ms, LITTLE * alone_ms) or any(
            one.finding.rule.id in proven_ms or one.finding.rule.severity for one in chosen
        )
        planned += [replace(row, group="plan" if is_worth_it else "minor") for row in rows]
        if not is_worth_it:  # nobody makes it: what follows comes without it
            made, total_ms = before, before_ms
        left = [one for one in left if one not in chosen]
    severe = [one for one in rest if one.finding.rule.severity == "high"]
    return [*severe, *planned, *(one for one in rest if one not in severe)]


def _next(
    left: list[Assessed],
    gains_ms: Gains,
    made: list[Change],
    changes: Mapping[str, Change],
    prediction: Prediction,
    measured: Measured,
) -> list[Assessed]:
    """The finding to act on next; all that refine the same if together they gain more:
    without one of two syncs the other waits.
    """
    ordered = sorted(left, key=lambda one: _by_gain(one, gains_ms))
    most = gains_ms[ordered[0].finding.rule.id]
    best = min(
        (one for one in ordered if not gains_ms[one.finding.rule.id] < most - LITTLE * abs(most)), key=_effort
    )
    families = {
        one.finding.rule.refines: [
            other for other in ordered if other.finding.rule.refines == one.finding.rule.refines
        ]
        for one in ordered
    }
    now_ms, most_ms, chosen = prediction.step_ms(made), gains_ms[best.finding.rule.id], [best]
    for family in families.values():
        together_ms = now_ms - prediction.step_ms([*made, *(changes[one.finding.rule.id] for one in family)])
        if len(family) > 1 and together_ms > max(
            most_ms, sum(gains_ms[one.finding.rule.id] for one in family)
        ) + _noise_ms(best.finding, measured):
            most_ms, chosen = together_ms, family
    return chosen


def _gains_ms(
    left: list[Assessed], made: list[Change], changes: Mapping[str, Change], prediction: Prediction
) -> dict[str, float]:
    """What each gains on top of what was done, by rule."""
    return {
        one.finding.rule.id: _at_stake(_gain_ms(changes[one.finding.rule.id], made, prediction), one)
        for one in left
    }


def _at_stake(gain_ms: float, assessed: Assessed) -> float:
    """No more than what the finding is about."""
    return gain_ms if assessed.at_most_ms is None else min(gain_ms, assessed.at_most_ms)


def _gain_ms(change: Change, made: list[Change], prediction: Prediction) -> float:
    return prediction.step_ms(made) - prediction.step_ms([*made, change])


def _correction_ms(
    assessed: Assessed, change: Change, prediction: Prediction, proven_ms: Mapping[str, float]
) -> float:
    """What was measured beyond what is predicted of the fix alone; 0 where it was not measured."""
    alone_ms = _gain_ms(change, [], prediction)
    return proven_ms.get(assessed.finding.rule.id, alone_ms) - alone_ms


def _by_gain(assessed: Assessed, gains_ms: Gains) -> tuple[float, str]:
    """Larger gains first."""
    return -gains_ms[assessed.finding.rule.id], assessed.finding.rule.id


def _effort(assessed: Assessed) -> tuple[bool, int]:
    """Easier fixes first: those that a rerun can make by itself, and of them those that change no result."""
    fix = assessed.finding.rule.fix
    return not fix.intervention, SAFETIES.index(fix.safety)


def _as_alternative(
    assessed: Assessed, plan: list[Assessed], prediction: Prediction, measured: Measured
) -> Assessed:
    """A minor finding that gains more than noise by itself, but nothing after the fix of a plan's
    row about the same row of the ledger: no more than the noise, and less than half of what it gains alone.
    """
    alone_ms = _gain_ms(assessed.change, [], prediction) if assessed.change is not None else 0.0
    noise_ms = _noise_ms(assessed.finding, measured)
    if assessed.group != "minor" or assessed.change is None or alone_ms < noise_ms:
        return assessed
    for row in plan:
        if row.group != "plan" or row.change is None or row.finding.row != assessed.finding.row:
            continue
        then_ms = _gain_ms(assessed.change, [row.change], prediction)
        if then_ms < max(noise_ms, LITTLE * alone_ms) and then_ms < SAME * alone_ms:
            return replace(assessed, group="alternative", alternative_to=row.finding.rule.id)
    return assessed


def _assessed(finding: Finding, cause: str | None, measured: Measured, prediction: Prediction) -> Assessed:
    if finding.state != "fires":
        return Assessed(finding, None, None, None, None, None, None)
    saving = saving_of(finding, prediction)
    bound = saving.at_most_ms if saving else at_most_ms(finding, measured)
    attributed_ms = saving.predicted_ms if saving else bound if bound is not None else finding.ms_per_step
    step_ms = prediction.recorded_ms if saving else measured.number("step_ms")
    step_ms += more_on_average_ms(finding, measured)
    share = attributed_ms / step_ms if attributed_ms is not None and step_ms > 0 else None
    return Assessed(
        finding,
        bound,
        saving,
        share,
        _severity(share, finding.rule.severity),
        _group(finding, saving, bound, cause, measured),
        cause,
        of_ms=step_ms,
    )


def _group(
    finding: Finding, saving: Saving | None, bound: float | None, cause: str | None, measured: Measured
) -> Group:
    scope = finding.rule.saving.scope
    if scope == "hypothetical" or scope == "information":
        return scope
    # By its range, not its best guess: one of two syncs gains nothing, both do.
    most = bound if saving is None else max(saving.high_ms, bound or 0.0)
    below_noise = most is not None and most < _noise_ms(finding, measured)
    return "minor" if cause or (below_noise and finding.rule.severity is None) else "plan"


def _noise_ms(finding: Finding, measured: Measured) -> float:
    """What a saving has to exceed: the noise of the step time. Where it is counted in the steps themselves,
    and is no difference between steps, a noise of more than what makes a saving medium hides none; nor does
    one of more than a small saving where steps differ because their batches do, or where the run has tried a
    setting in turns.
    """
    noise_ms = measured.number("noise_ms")
    if finding.rule.saving.scope == "average":
        return noise_ms
    is_small_told = finding.rule.saving.edit == "quicken" or measured.metric("shapes_differ") is True
    most = SMALL_SHARE if is_small_told else MEDIUM_SHARE
    return min(noise_ms, most * measured.number("step_ms"))


def _severity(share: float | None, least: Severity | None) -> Severity:
    if share is not None and share >= HIGH_SHARE:
        return "high"
    by_share: Severity = "medium" if share is not None and share >= MEDIUM_SHARE else "low"
    return max(by_share, least or by_share, key=SEVERITIES.index)
