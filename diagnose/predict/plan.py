"""Which findings are worth acting on, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.judge.causes import better_explained
from diagnose.judge.findings import Finding
from diagnose.measure.measured import Measured
from diagnose.predict.bound import at_most_ms

SEVERITIES = ("low", "medium", "high")
HIGH_SHARE, MEDIUM_SHARE = 0.20, 0.05  # of the step: XProf's "high" and torch_tb_profiler's 5 % for input, used here for all
CURED_SHARE = 0.5  # a remedy that does away with half of what another one hides comes before it: the rest is then half as long to hide


@dataclass(frozen=True)
class Assessed:
    """A finding with what is at stake. ``group``: plan, minor, hypothetical, information; None unless it fires."""

    finding: Finding
    at_most_ms: float | None
    share: float | None
    severity: str | None
    group: str | None
    because_of: str | None  # the rule that explains the same time better


def assess(findings: list[Finding], measured: Measured) -> list[Assessed]:
    """The findings with group and severity; those that fire first, the largest saving on top."""
    causes = better_explained(findings, measured)
    assessed = [_assessed(one, causes.get(one.rule.id), measured) for one in findings]
    order = {"plan": 0, "minor": 1, "hypothetical": 2, "information": 3, None: 4}
    return sorted(assessed, key=lambda one: (order[one.group], -_rank_ms(one, assessed), one.finding.rule.id))


def _rank_ms(one: Assessed, assessed: list[Assessed]) -> float:
    """What a finding is ranked by: its saving. One that hides a time ranks behind those that do away with most of the same time."""
    saving = one.at_most_ms or 0.0
    if one.finding.rule.saving.edit != "overlap":
        return saving
    cures = [
        other.at_most_ms or 0.0
        for other in assessed
        if other.group == "plan" and other.finding.rule.saving.edit != "overlap" and other.finding.rule.refines == one.finding.rule.refines
    ]
    most = [cure for cure in cures if cure >= CURED_SHARE * saving]
    return min([saving, *(cure * 0.999 for cure in most)])


def _assessed(finding: Finding, cause: str | None, measured: Measured) -> Assessed:
    if finding.state != "fires":
        return Assessed(finding, None, None, None, None, None)
    bound = at_most_ms(finding, measured)
    at_stake = bound if bound is not None else finding.ms_per_step
    step_ms = measured.number("step_ms")
    share = at_stake / step_ms if at_stake is not None and step_ms > 0 else None
    return Assessed(finding, bound, share, _severity(share), _group(finding, bound, cause, measured), cause)


def _group(finding: Finding, bound: float | None, cause: str | None, measured: Measured) -> str:
    scope = finding.rule.saving.scope
    if scope in ("hypothetical", "information"):
        return scope
    below_noise = bound is not None and bound < measured.number("noise_ms")
    return "minor" if below_noise or cause else "plan"


def _severity(share: float | None) -> str:
    if share is None or share < MEDIUM_SHARE:
        return "low"
    return "high" if share >= HIGH_SHARE else "medium"
