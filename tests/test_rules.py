"""A rule file that is wrong is refused with the nearest valid name."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import pytest

from diagnose.errors import DiagnoseError
from diagnose.judge.rules import load_rules, parse_rule, rules_folder

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


def test_advice_for_a_context_is_read_like_the_rules_own() -> None:
    data = copy.deepcopy(GOOD)
    when = {"metric": "compiled", "op": "==", "value": True, "because": "noise"}
    data["fix"]["instead"] = [{"when": when, "title": "Another", "how": "So.", "safety": "manual"}]
    (instead,) = parse_rule(data, GOOD["id"]).instead
    assert (instead.when.metric, instead.advice.title, instead.advice.intervention) == (
        "compiled",
        "Another",
        "",
    )


@pytest.mark.parametrize(
    ("instead", "hint"),
    [
        ({"title": "Another", "how": "So.", "safety": "manual"}, "'when' is missing"),
        (
            {"when": {"metric": "compild", "op": "==", "value": True, "because": "x"}},
            "did you mean 'compiled'?",
        ),
    ],
)
def test_a_mistake_in_advice_for_a_context_is_named(instead: Any, hint: str) -> None:
    assert hint in refusal(lambda rule: rule["fix"].update(instead=[instead]))


def test_refines_names_a_ledger_row_or_a_rule(tmp_path: Any) -> None:
    text = (rules_folder() / "compute-bound.toml").read_text(encoding="utf-8")
    (tmp_path / "compute-bound.toml").write_text(
        text.replace('refines = "compute"', 'refines = "comput"'), encoding="utf-8"
    )
    with pytest.raises(DiagnoseError, match="did you mean 'compute'"):
        load_rules(tmp_path)


def test_every_bundled_rule_names_its_cause_in_a_few_words() -> None:
    causes = [
        tomllib.loads((rules_folder() / f"{rule_id}.toml").read_text(encoding="utf-8"))["cause"]
        for rule_id in load_rules()
    ]
    assert len(set(causes)) == len(causes)
    for cause in causes:
        assert 1 <= len(cause.split()) <= 5 and cause[-1] not in ".:;,", cause


def test_a_rule_of_ones_own_may_leave_its_cause_out() -> None:
    data = {key: value for key, value in GOOD.items() if key != "cause"}
    assert parse_rule(data, GOOD["id"]).cause == "Input wait no workers"


def test_every_rule_has_cases_beside_it() -> None:
    for rule_id in load_rules():
        assert (rules_folder() / f"{rule_id}.cases.toml").exists()
