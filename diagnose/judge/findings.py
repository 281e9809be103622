"""Rules × metrics → findings. A rule that raises an error loses only itself."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diagnose.judge.culprits import Culprit, culprits
from diagnose.judge.left import as_tried, left_of
from diagnose.judge.rules import IN_MS, LAST, WHOLE_STEP, Advice, Condition, Rule, lineage
from diagnose.judge.terms import Op, State
from diagnose.measure.measured import FACT_SELECTORS, METRICS, Measured, Value
from diagnose.measure.missing import Missing
from diagnose.measure.selection import SELECTORS
from diagnose.trace.collector import collector_at_rest

OPERATORS: dict[Op, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}

MOSTLY = 0.5  # of what is saved at a line, from which another rule explains it


@dataclass(frozen=True)
class Evidence:
    """A condition with what was measured."""

    condition: Condition
    value: Value
    unit: str


@dataclass(frozen=True)
class Finding:
    """A rule judged on a recording. ``ms_per_step``: the time of its selector, ms of the
    plain step; None where it does not fire.

    ``row``: of the ledger, in which that time lies, or "step". ``left``: of that time the fix leaves this
    part, by the best guess.
    """

    rule: Rule
    state: State
    evidence: tuple[Evidence, ...] = ()
    ms_per_step: float | None = None
    culprits: tuple[Culprit, ...] = ()
    abstains_for: Missing | None = None
    error: str | None = None
    row: str = WHOLE_STEP
    left: float = 0.0

    @property
    def saves_ms(self) -> float:
        """Of its own time, per step; 0 where that is not known."""
        return (self.ms_per_step or 0.0) * (1 - self.left)


@collector_at_rest()
def judge(rules: Mapping[str, Rule], measured: Measured) -> list[Finding]:
    """One finding a rule, in the rules' order. Deprecated rules are not judged, nor are those for another
    framework than that of the recording.
    """
    found = [
        _judged(rule, lineage(rule, rules), measured)
        for rule in rules.values()
        if rule.status != "deprecated" and measured.framework in rule.frameworks
    ]
    return each_line_once(found)


def each_line_once(found: Sequence[Finding]) -> list[Finding]:
    """The findings, in their order. Those of rules for the rest give way one after the other, so that of two
    that blame a line one keeps it: the one whose fix saves more.
    """
    left = list(found)
    giving_way = [at for at, one in enumerate(left) if one.rule.rest and one.state == "fires"]
    for at in sorted(giving_way, key=lambda at: (left[at].rule.rest != LAST, left[at].saves_ms)):
        left[at] = without_explained(left[at], left)
    return left


def without_explained(finding: Finding, others: Sequence[Finding]) -> Finding:
    """The finding without the lines that another one blames most and saves half as much at or more; quiet
    where that is all of them.
    """
    known: dict[tuple[str, int], float] = {}
    for one in others:
        if one is finding or one.state != "fires" or not one.culprits:
            continue
        if one.rule.saving.scope in IN_MS and finding.rule.gives_way_to(one.rule.id):
            line = one.culprits[0].file, one.culprits[0].line
            known[line] = max(known.get(line, 0.0), one.saves_ms)
    left = tuple(
        culprit
        for culprit in finding.culprits
        if known.get((culprit.file, culprit.line), -1.0) < MOSTLY * culprit.ms_per_step * (1 - finding.left)
    )
    if len(left) == len(finding.culprits):
        return finding
    if not left:
        return Finding(finding.rule, "quiet", finding.evidence)
    gone_ms = sum(culprit.ms_per_step for culprit in finding.culprits if culprit not in left)
    return replace(finding, culprits=left, ms_per_step=(finding.ms_per_step or 0.0) - gone_ms)


def _judged(rule: Rule, above: list[Rule], measured: Measured) -> Finding:
    try:
        return finding(rule, measured, above)
    except Exception as error:
        return Finding(rule, "error", error=f"{type(error).__name__}: {error}")


def finding(rule: Rule, measured: Measured, above: Sequence[Rule] = ()) -> Finding:
    """What the rule finds; where it fires with its advice for this recording, the time and the lines.
    ``above``: the rules that it refines.
    """
    found = by_conditions(rule, measured)
    if found.state != "fires":
        return found
    rule = replace(rule, fix=advice(rule, measured), saving=as_tried(rule.saving, measured))
    attributed_ms = _attributed_ms_of(rule, above, measured)
    blamed = SELECTORS[rule.selector] if rule.selector in SELECTORS else FACT_SELECTORS[rule.selector]
    return replace(
        found,
        rule=rule,
        ms_per_step=attributed_ms,
        culprits=culprits(measured, blamed, attributed_ms or 0.0),
        row=(rule, *above)[-1].refines,
        left=left_of(rule.saving, measured, "guess"),
    )


def by_conditions(rule: Rule, measured: Measured) -> Finding:
    """The rule's state and evidence alone: quiet if any condition is known to fail, else abstaining if
    anything is missing, else firing.

    How often something happens per step is not known where nothing marks the steps. A rule whose conditions
    also ask what that costs, and which it costs, is judged without its count.
    """
    values = [(condition, measured.metric(condition.metric)) for condition in rule.when]
    evidence = tuple(
        Evidence(condition, value, METRICS[condition.metric].unit)
        for condition, value in values
        if not isinstance(value, Missing)
    )
    if not all(_may_hold(condition, value) for condition, value in values):
        return Finding(rule, "quiet", evidence)
    costs = any(one.unit in ("share", "ms") and one.condition.op in (">=", ">") for one in evidence)
    for _, value in values:
        if isinstance(value, Missing) and not (costs and value.at_most is not None):
            return Finding(rule, "abstains", evidence, abstains_for=value)
    return Finding(rule, "fires", evidence)


def advice(rule: Rule, measured: Measured) -> Advice:
    """What the rule advises on this recording."""
    for instead in rule.instead:
        value = measured.metric(instead.when.metric)
        if not isinstance(value, Missing) and holds(instead.when, value):
            return instead.advice
    return rule.fix


def _attributed_ms_of(rule: Rule, above: Sequence[Rule], measured: Measured) -> float | None:
    """The selector's time, ms per step; a child never claims more than any rule above it, nor
    than the ledger's row they all refine.
    """
    costs = [measured.metric(f"{one.selector}_ms") for one in (rule, *above)]
    if isinstance(costs[0], Missing):
        return None
    row = (rule, *above)[-1].refines
    limits = [measured.row_ms(row)] if measured.ledger is not None and row in measured.ledger.rows else []
    return min(float(cost) for cost in [*costs, *limits] if not isinstance(cost, Missing))


def _may_hold(condition: Condition, value: Value | Missing) -> bool:
    """Whether the condition is not known to fail: a number that is at most 3 is not 10 or more."""
    if not isinstance(value, Missing):
        return holds(condition, value)
    needs_more = condition.op in (">=", ">") and value.at_most is not None
    return not needs_more or holds(condition, float(value.at_most or 0))


def holds(condition: Condition, value: Value) -> bool:
    return OPERATORS[condition.op](value, condition.value)
