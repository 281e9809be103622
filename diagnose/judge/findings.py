"""Rules × metrics → findings. A rule that raises an error loses only itself."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from diagnose.judge.culprits import Culprit, culprits
from diagnose.measure.measured import METRICS, Measured, Missing, Value
from diagnose.measure.selection import SELECTORS
from diagnose.rules import Condition, Rule

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Evidence:
    """A condition with what was measured."""

    condition: Condition
    value: Value
    unit: str


@dataclass(frozen=True)
class Finding:
    """A rule judged on a recording. ``ms_per_step``: the time of its selector, ms of the plain step; None where it does not fire."""

    rule: Rule
    state: str  # fires | quiet | abstains | error
    evidence: tuple[Evidence, ...] = ()
    ms_per_step: float | None = None
    culprits: tuple[Culprit, ...] = ()
    abstains_for: Missing | None = None
    error: str | None = None


def judge(rules: Iterable[Rule], measured: Measured) -> list[Finding]:
    """One finding a rule, in the rules' order. Deprecated rules are not judged."""
    return [_judged(rule, measured) for rule in rules if rule.status != "deprecated"]


def _judged(rule: Rule, measured: Measured) -> Finding:
    try:
        return finding(rule, measured)
    except Exception as error:
        return Finding(rule, "error", error=f"{type(error).__name__}: {error}")


def finding(rule: Rule, measured: Measured) -> Finding:
    """The rule's state: quiet if any condition is known to fail, else abstaining if anything is missing, else firing."""
    values = [(condition, measured.metric(condition.metric)) for condition in rule.when]
    evidence = tuple(
        Evidence(condition, value, METRICS[condition.metric].unit) for condition, value in values if not isinstance(value, Missing)
    )
    if not all(holds(one.condition, one.value) for one in evidence):
        return Finding(rule, "quiet", evidence)
    for _, value in values:
        if isinstance(value, Missing):
            return Finding(rule, "abstains", evidence, abstains_for=value)
    return _fired(rule, evidence, measured)


def _fired(rule: Rule, evidence: tuple[Evidence, ...], measured: Measured) -> Finding:
    ms = measured.metric(f"{rule.selector}_ms")
    at_stake = None if isinstance(ms, Missing) else float(ms)
    if at_stake is not None and measured.ledger is not None and rule.refines in measured.ledger.rows:
        at_stake = min(at_stake, measured.row_ms(rule.refines))  # a child never claims more than its parent
    return Finding(rule, "fires", evidence, at_stake, culprits(measured, SELECTORS[rule.selector], at_stake or 0.0))


def holds(condition: Condition, value: Value) -> bool:
    return OPERATORS[condition.op](value, condition.value)
