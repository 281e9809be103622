"""The files of a new rule: they load, their cases hold, and they cannot be forgotten half-filled."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from diagnose.errors import UsageError
from diagnose.judge.findings import finding
from diagnose.judge.rules import load_rules
from diagnose.judge.skeleton import write_skeleton
from diagnose.judge.timelines import measured_case


def test_a_skeleton_loads_and_its_cases_hold(tmp_path: Path) -> None:
    _, cases = write_skeleton("new-rule", tmp_path)
    rule = load_rules(tmp_path)["new-rule"]
    for case in tomllib.loads(cases.read_text(encoding="utf-8"))["case"]:
        assert finding(rule, measured_case(case)).state == case["expect"], case["name"]


@pytest.mark.parametrize("rule_id", ["New-Rule", "rule", "../rule", "a--b", "a b"])
def test_a_bad_id_is_refused(rule_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no rule id"):
        write_skeleton(rule_id, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_rule_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "new-rule.cases.toml").write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        write_skeleton("new-rule", tmp_path)
    assert not (tmp_path / "new-rule.toml").exists()
