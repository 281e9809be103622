"""A rule file that is wrong is refused with the nearest valid name."""

from __future__ import annotations

import copy
import inspect
import tomllib
from typing import Any

import pytest

from diagnose.errors import DiagnoseError
from diagnose.judge.rules import INTERVENTIONS, load_rules, parse_rule, rules_folder
from diagnose.measure.metrics import METRICS
from diagnose.run.child.interventions import INTERVENTIONS as CHILD_INTERVENTIONS
from diagnose.run.child.interventions import build
from diagnose.run.child.places import Places

GOOD = tomllib.loads((rules_folder() / "input-wait-no-workers.toml").read_text(encoding="utf-8"))


def refusal(change: Any) -> str:
    data = copy.deepcopy(GOOD)
    change(data)
    with pytest.raises(DiagnoseError) as caught:
        parse_rule(data, GOOD["id"])
    return str(caught.value)


def test_the_good_one_is_accepted() -> None:
    assert parse_rule(GOOD, GOOD["id"]).selector == "input_wait"


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda rule: rule["when"][0].update(metric="input_wait_shar"), "did you mean 'input_wait_share'?"),
        (lambda rule: rule["culprits"].update(selector="input_wai"), "did you mean 'input_wait'?"),
        (lambda rule: rule.update(symptoms="x"), "did you mean 'symptom'?"),
        (lambda rule: rule.update(status="stabel"), "did you mean 'stable'?"),
        (lambda rule: rule["fix"].update(how="Use {suggested_worker}."), "did you mean 'suggested_workers'?"),
        (lambda rule: rule["fix"].pop("otherwise"), "'otherwise' is missing"),
        (lambda rule: rule["when"][0].pop("because"), "'because' is missing"),
        (lambda rule: rule.update(id="another"), "must be the same"),
    ],
)
def test_a_mistake_is_named(change: Any, hint: str) -> None:
    assert hint in refusal(change)


def test_refines_names_a_ledger_row_or_a_rule(tmp_path: Any) -> None:
    text = (rules_folder() / "compute-bound.toml").read_text(encoding="utf-8")
    (tmp_path / "compute-bound.toml").write_text(
        text.replace('refines = "compute"', 'refines = "comput"'), encoding="utf-8"
    )
    with pytest.raises(DiagnoseError, match="did you mean 'compute'"):
        load_rules(tmp_path)


def test_every_rule_has_cases_beside_it() -> None:
    for rule_id in load_rules():
        assert (rules_folder() / f"{rule_id}.cases.toml").exists()


def test_every_automatic_fix_can_be_made_with_the_arguments_its_rule_gives() -> None:
    for name, fix in CHILD_INTERVENTIONS.items():
        taken = set(inspect.signature(fix).parameters) - {"sites"}
        # those take anything and say themselves what they know
        assert taken == set(INTERVENTIONS[name]) or taken == {"wanted"}, name
    assert set(INTERVENTIONS) == set(CHILD_INTERVENTIONS)
    for rule in load_rules().values():
        if rule.fix.intervention:
            arguments = {name: 2 if value in METRICS else value for name, value in rule.fix.arguments.items()}
            spec = {"name": rule.fix.intervention, "arguments": arguments, "sites": []}
            assert len(build([spec], Places("/job", "/job"))) == 1  # raises TypeError for an unknown argument
