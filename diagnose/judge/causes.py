"""One cause, one finding: which of the findings that fire explain the same time as another one, better."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from diagnose.judge.findings import Finding
from diagnose.judge.rules import IN_MS
from diagnose.measure.measured import Measured
from diagnose.measure.selection import SELECTORS, Selection
from diagnose.measure.view import Intervals
from diagnose.trace.intervals import intersect, total, union

# So much of a finding's time has to lie in another's before they are one; the rest is what
# marks and edges of ranges differ by.
SAME_TIME_SHARE = 0.8
# the metric of what a late rank keeps of its time when it is as fast as the others
LATE_PART, MOST_LEFT = ("late_part_left", 0.5)

Times = Mapping[str, Callable[[], Intervals | None]]  # by rule, see `_time`; worked out when first asked for


def better_explained(findings: Sequence[Finding], measured: Measured) -> dict[str, str]:
    """Rule id → id of the rule that explains the same time better. A rule that is a key is never a value.

    Either rules that refine it explain most of its time, or another rule does that blames the same line.
    """
    firing = [finding for finding in findings if finding.state == "fires"]
    times = {one.rule.id: functools.cache(functools.partial(_time, one, measured)) for one in firing}
    causes = {one.rule.id: cause for one in firing if (cause := _by_children(one, firing, times))}
    for one in firing:
        others = [
            other
            for other in firing
            if other.rule.id not in causes and other is not one and _same_line(one, other)
        ]
        for other in others:
            if one.rule.id not in causes and _explains(other, one, times, measured):
                causes[one.rule.id] = other.rule.id
    return {rule: _last(rule, causes) for rule in causes}


def _by_children(finding: Finding, firing: Sequence[Finding], times: Times) -> str | None:
    """The costliest rule that refines this one, if all that do explain most of its time: two of them may be
    about the same part of it.
    """
    children = [
        one for one in firing if one.rule.refines == finding.rule.id and one.rule.saving.scope in IN_MS
    ]
    explained = sum(one.ms_per_step or 0.0 for one in children)
    if not children or explained < SAME_TIME_SHARE * (finding.ms_per_step or 0.0):
        return None
    if len(children) > 1 and _covered(finding, children, times) < SAME_TIME_SHARE:
        return None
    return max(children, key=lambda one: one.ms_per_step or 0.0).rule.id


def _covered(finding: Finding, others: Sequence[Finding], times: Times) -> float:
    """The share of its time in which one of the others' lies; 1 where a trace does not tell."""
    own, theirs = times[finding.rule.id](), [times[other.rule.id]() for other in others]
    known = [time for time in theirs if time is not None]
    if own is None or not total(own) or len(known) < len(theirs):
        return 1.0
    return total(intersect(union(np.concatenate(known)), own)) / total(own)


def _same_line(finding: Finding, other: Finding) -> bool:
    """Both blame one line most, and neither is about the other's area as a whole."""
    if (
        not finding.culprits
        or not other.culprits
        or finding.rule.refines == other.rule.id
        or other.rule.refines == finding.rule.id
    ):
        return False
    return (finding.culprits[0].file, finding.culprits[0].line) == (
        other.culprits[0].file,
        other.culprits[0].line,
    )


def _explains(other: Finding, finding: Finding, times: Times, measured: Measured) -> bool:
    """Whether the other's time holds most of this one's.

    Where each holds the other, the one that knows more does.
    """
    if finding.rule.saving.scope == "hypothetical":
        return finding.rule.selector == other.rule.selector and other.rule.saving.scope == "step"
    its, own = times[other.rule.id](), times[finding.rule.id]()
    if its is None and own is None:
        return _explains_lines(other, finding)
    if its is None or own is None or not total(own):
        return False
    shared = total(intersect(its, own))
    if shared < SAME_TIME_SHARE * total(own):
        return False
    mutual = shared >= SAME_TIME_SHARE * total(its)
    return not mutual or _knowledge(other, measured) > _knowledge(finding, measured)


def _explains_lines(other: Finding, finding: Finding) -> bool:
    """By the lines that both blame, where no trace holds the time: the one with fewer lines knows more."""
    its, own = (_ms_by_line(one) for one in (other, finding))
    shared_ms = sum(min(its[line], own[line]) for line in its.keys() & own.keys())
    holds_it = 0 < SAME_TIME_SHARE * sum(own.values()) <= shared_ms
    return holds_it and other.row == finding.row and len(its) < len(own)


def _ms_by_line(finding: Finding) -> dict[tuple[str, int], float]:
    return {(place.file, place.line): place.ms_per_step for place in finding.culprits}


def _knowledge(finding: Finding, measured: Measured) -> tuple[bool, int, str]:
    """A rule about a late rank knows more where the other ranks wait for most of that time,
    else the one with more conditions does.
    """
    left = measured.number(LATE_PART) if finding.rule.saving.ratio == LATE_PART else 1.0
    return left <= MOST_LEFT, len(finding.rule.when), finding.rule.id


def _time(finding: Finding, measured: Measured) -> Intervals | None:
    """The finding's time (ns) in the view that all of them have: the detail phase, else the timeline.

    None for what no trace holds.
    """
    view: Selection | None = measured.detail or measured.timeline
    selector = SELECTORS.get(finding.rule.selector)
    if selector is None or view is None or finding.rule.saving.scope != "step":
        return None
    return selector.attributed(view, selector.rows(view))


def _last(rule: str, causes: dict[str, str]) -> str:
    seen = {rule}
    while rule in causes and causes[rule] not in seen:
        rule = causes[rule]
        seen.add(rule)
    return rule
