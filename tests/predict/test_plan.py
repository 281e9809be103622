"""The order of the plan, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.judge.findings import Finding
from diagnose.predict.plan import assess
from diagnose.rules import Rule, load_rules

from ..timelines import measured_case

RULES = load_rules()
STEP = measured_case({"timeline": "main  0  100000  step  ProfilerStep#1\nmain  0  80000  op  aten::mm"})  # 100 ms; the noise is 1 ms


def fired(rule: Rule, ms: float) -> Finding:
    return Finding(rule, "fires", (), ms, ())


def order(*findings: Finding) -> list[str]:
    return [one.finding.rule.id for one in assess(list(findings), STEP) if one.group == "plan"]


HIDES = RULES["input-wait-no-workers"]
CURES = replace(HIDES, id="cure", saving=replace(HIDES.saving, edit="remove"))
ELSEWHERE = replace(CURES, id="elsewhere", refines="python")


@pytest.mark.parametrize(("cured_ms", "first"), [(21, "cure"), (19, HIDES.id)])
def test_doing_away_with_half_of_a_time_comes_before_hiding_it(cured_ms: float, first: str) -> None:
    assert order(fired(HIDES, 40), fired(CURES, cured_ms))[0] == first


def test_other_findings_keep_the_order_of_their_savings() -> None:
    assert order(fired(HIDES, 40), fired(ELSEWHERE, 30)) == [HIDES.id, "elsewhere"]
    assert order(fired(HIDES, 40), fired(ELSEWHERE, 30), fired(CURES, 25)) == ["elsewhere", "cure", HIDES.id]


def test_what_is_below_the_noise_is_not_in_the_plan() -> None:
    assert order(fired(CURES, 0.9)) == []
    assert order(fired(CURES, 1.1)) == ["cure"]
