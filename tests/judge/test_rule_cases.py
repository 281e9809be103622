"""The gates every rule passes: its cases hold, no condition is idle, no threshold
is arbitrary within a factor of two.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from diagnose.judge.findings import finding, holds
from diagnose.judge.rules import Condition, Rule, load_rules, rules_folder
from diagnose.measure.measured import Measured, Missing

from ..timelines import measured_case

RULES = load_rules()


@functools.cache
def cases(rule_id: str) -> list[tuple[dict[str, Any], Measured]]:
    path = rules_folder() / f"{rule_id}.cases.toml"
    return [(case, measured_case(case)) for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]]


def state(rule: Rule, measured: Measured) -> str:
    return finding(rule, measured).state


def evidence(rule: Rule, measured: Measured) -> str:
    values = {condition.metric: measured.metric(condition.metric) for condition in rule.when}
    return ", ".join(f"{name}={value}" for name, value in values.items())


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_cases_hold(rule: Rule) -> None:
    for case, measured in cases(rule.id):
        assert state(rule, measured) == case["expect"], f"{case['name']}: {evidence(rule, measured)}"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_fires_and_is_quiet_and_abstains_where_something_can_be_missing(rule: Rule) -> None:
    expected = {case["expect"] for case, _ in cases(rule.id)}
    assert {"fires", "quiet"} <= expected
    empty = {
        condition.metric for condition in rule.when if isinstance(EMPTY.metric(condition.metric), Missing)
    }
    assert "abstains" in expected or not empty, f"{sorted(empty)} can be missing"


# A trace with one step and nothing else known: what is missing here can be missing.
EMPTY = measured_case({"timeline": "main  0  100  step  ProfilerStep#1\nmain  10  10  op  aten::mm"})


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_condition_is_needed(rule: Rule) -> None:
    lacking = []
    for dropped in rule.when:
        looser = replace(rule, when=tuple(condition for condition in rule.when if condition is not dropped))
        if not any(
            case["expect"] == "quiet" and state(looser, measured) == "fires"
            for case, measured in cases(rule.id)
        ):
            lacking.append(
                f"a quiet case in which all holds but {dropped.metric} {dropped.op} {dropped.value}"
            )
    assert not lacking, f"add {'; '.join(lacking)}"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_threshold_is_pinned_within_a_factor_of_two(rule: Rule) -> None:
    lacking = []
    for condition in filter(_has_scale, rule.when):
        for factor in (0.5, 2.0):
            moved = replace(condition, value=condition.value * factor)  # type: ignore[operator]
            mutant = replace(rule, when=tuple(moved if one is condition else one for one in rule.when))
            if all(state(mutant, measured) == case["expect"] for case, measured in cases(rule.id)):
                lacking.append(f"a case with {condition.metric} between {condition.value} and {moved.value}")
    assert not lacking, f"add {'; '.join(lacking)}"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_nothing_is_left_to_do(rule: Rule) -> None:
    for path in (rules_folder() / f"{rule.id}.toml", rules_folder() / f"{rule.id}.cases.toml"):
        todo = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if "TODO" in line]
        assert not todo, f"{path.name}: fill in {todo}"


def _has_scale(condition: Condition) -> bool:
    """A number with an order; not yes/no, not equality, not zero. A share cannot be doubled past 1."""
    value = condition.value
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and condition.op not in ("==", "!=")
        and value != 0
    )


def test_a_rule_that_raises_loses_only_itself() -> None:
    from diagnose.judge.findings import judge

    broken = replace(next(iter(RULES.values())), id="broken", selector="no such selector", when=())
    states = {
        one.rule.id: one.state
        for one in judge({"broken": broken, "compute-bound": RULES["compute-bound"]}, EMPTY)
    }
    assert states == {"broken": "error", "compute-bound": "abstains"}


def test_every_comparison() -> None:
    truths = {
        (1, ">=", 1): True,
        (1, ">", 1): False,
        (1, "<=", 1): True,
        (1, "<", 2): True,
        (1, "==", 1): True,
        (1, "!=", 1): False,
    }
    for (value, op, threshold), expected in truths.items():
        assert holds(Condition("m", op, threshold, ""), value) is expected
