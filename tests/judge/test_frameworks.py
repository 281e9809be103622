"""A rule is judged on recordings of the frameworks that it names, torch alone where it names none."""

from __future__ import annotations

import re

import pytest

from diagnose.errors import DiagnoseError
from diagnose.judge.findings import judge
from diagnose.judge.parsed import parsed_files
from diagnose.judge.rules import Rule, load_rules, parse_rule, rules_folder
from diagnose.judge.timelines import measured_case

STEP = "main  0  1000  step  ProfilerStep#1\nmain  0  900  op  IteratorGetNext\nmain  900  50  op  MatMul"
OF_TORCH = re.compile(r"torch|DataLoader|\.to\(|pin_memory|autocast")


def judged_on(framework: str) -> set[str]:
    info = {} if framework == "torch" else {"info": {"framework": framework}}
    return {finding.rule.id for finding in judge(load_rules(), measured_case({"timeline": STEP, **info}))}


def advice_for(rule: Rule, framework: str) -> list[str]:
    """What is said on a recording of that framework."""
    of_others = [one for one in rule.instead if one.when.metric == "framework"]
    own = [one.advice for one in of_others if one.when.value == framework]
    return [f"{one.title} {one.how} {one.caution} {one.before} {one.after}" for one in own or [rule.fix]]


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_what_is_judged_on_another_framework_speaks_its_words(framework: str) -> None:
    rules = load_rules()
    judged = judged_on(framework)
    assert {"tf-data-late", "compute-bound"} <= judged
    assert "input-wait" not in judged
    for name in judged:
        assert not [said for said in advice_for(rules[name], framework) if OF_TORCH.search(said)], name


def test_torch_has_its_own_rules() -> None:
    judged = judged_on("torch")
    assert {"input-wait", "compute-bound"} <= judged
    assert not judged & {"tf-data-late", "float32-products"}


def test_an_unknown_framework_is_named() -> None:
    (data,) = parsed_files([rules_folder() / "tf-data-late.toml"], None).values()
    with pytest.raises(DiagnoseError, match="frameworks"):
        parse_rule({**data, "frameworks": ["tensorflw"]}, "tf-data-late")
