"""The gates every rule passes, bundled or of one's own: its cases hold, no condition is idle, no threshold
is arbitrary within a factor of two. Each returns what is wrong, in sentences; nothing if all is well.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from diagnose.errors import DiagnoseError
from diagnose.judge.findings import advice, by_conditions, finding
from diagnose.judge.rules import Condition, Rule
from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing

# A trace with one step and nothing else known: what is missing here can be missing.
BARE = {"timeline": "main  0  100  step  ProfilerStep#1\nmain  10  10  op  aten::mm"}
Cases = list[tuple[dict[str, Any], Measured]]


@functools.cache
def cases_of(rule_id: str, folder: Path) -> Cases:
    """The cases beside a rule, read as recordings. Raises DiagnoseError if they are not there or damaged."""
    path = folder / f"{rule_id}.cases.toml"
    try:
        cases = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        return [(case, measured_case(case)) for case in cases]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        saw = f"{type(error).__name__}: {error}"
        raise DiagnoseError(
            f"{path} holds no cases", saw=saw, do="see CONTRIBUTING.md, *Add a rule*"
        ) from error


def untrue_cases(rule: Rule, cases: Cases) -> list[str]:
    return [
        f"case {case['name']!r} is {state}, not {case['expect']}: " + _evidence(rule, measured)
        for case, measured in cases
        if (state := finding(rule, measured).state) != case["expect"]  # with all that a report asks
    ]


def missing_cases(rule: Rule, cases: Cases) -> list[str]:
    """A case that fires and one that is quiet; one that abstains where something can be missing."""
    expected = {case["expect"] for case, _ in cases}
    unknown = sorted({one.metric for one in rule.when if isinstance(_bare().metric(one.metric), Missing)})
    lacking = [f"no case is expected to be {state}" for state in ("fires", "quiet") if state not in expected]
    if unknown and "abstains" not in expected:
        lacking.append(f"no case abstains, and {', '.join(unknown)} can be missing")
    return lacking


@functools.cache
def _bare() -> Measured:
    return measured_case(BARE)


def idle_conditions(rule: Rule, cases: Cases) -> list[str]:
    """Conditions without which no quiet case would fire."""
    lacking = []
    for dropped in rule.when:
        looser = replace(rule, when=tuple(condition for condition in rule.when if condition is not dropped))
        firing = [case for case, measured in cases if _state(looser, measured) == "fires"]
        if not any(case["expect"] == "quiet" for case in firing):
            condition = f"{dropped.metric} {dropped.op} {dropped.value}"
            lacking.append(f"add a quiet case in which all holds but {condition}")
    return lacking


def loose_thresholds(rule: Rule, cases: Cases) -> list[str]:
    """Thresholds that could be half or twice as large without any case noticing."""
    lacking = []
    for condition in filter(_has_scale, rule.when):
        for factor in (0.5, 2.0):
            moved = replace(condition, value=condition.value * factor)  # type: ignore[operator]
            mutant = replace(rule, when=tuple(moved if one is condition else one for one in rule.when))
            if all(_state(mutant, measured) == case["expect"] for case, measured in cases):
                between = f"{condition.value} and {moved.value}"
                lacking.append(f"add a case with {condition.metric} between {between}")
    return lacking


def unused_advice(rule: Rule, cases: Cases) -> list[str]:
    """Advice for a context (`[[fix.instead]]`) that no case which fires is given."""
    given = [advice(rule, measured) for case, measured in cases if case["expect"] == "fires"]
    return [
        f"add a case that fires and is told {instead.advice.title!r}"
        for instead in rule.instead
        if instead.advice not in given
    ]


def left_to_do(rule: Rule, folder: Path) -> list[str]:
    """What the skeleton of a new rule still asks for."""
    return [
        f"{name}: fill in {line.strip()}"
        for name in (f"{rule.id}.toml", f"{rule.id}.cases.toml")
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
        if "TODO" in line
    ]


GATES: tuple[Callable[[Rule, Cases], list[str]], ...] = (
    untrue_cases,
    missing_cases,
    idle_conditions,
    loose_thresholds,
    unused_advice,
)


def complaints(rule: Rule, folder: Path) -> list[str]:
    """All that is wrong with a rule of the folder. Raises DiagnoseError if it has no cases."""
    cases = cases_of(rule.id, folder)
    return [*left_to_do(rule, folder), *(complaint for gate in GATES for complaint in gate(rule, cases))]


def _state(rule: Rule, measured: Measured) -> str:
    return by_conditions(rule, measured).state


def _evidence(rule: Rule, measured: Measured) -> str:
    values = {condition.metric: measured.metric(condition.metric) for condition in rule.when}
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _has_scale(condition: Condition) -> bool:
    """A number with an order; not yes/no, not equality, not zero. A share cannot be doubled past 1."""
    value = condition.value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and condition.op not in ("==", "!=") and value != 0
