"""The pages of `python -m diagnose rules`: no name of a metric stands in place of a number."""

from __future__ import annotations

import re

import pytest

from diagnose.judge.rules import Rule, load_rules
from diagnose.measure.metrics import METRICS
from diagnose.report.catalogue import rule_list, rule_page

RULES = load_rules()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_page_names_no_metric_in_place_of_its_number(rule: Rule) -> None:
    assert not [name for name in re.findall(r"\{(\w+)\}", rule_page(rule, METRICS)) if name in METRICS]


def test_a_page_says_in_words_what_kind_of_rule_it_is() -> None:
    page = rule_page(RULES["input-wait-no-workers"], METRICS)
    assert page.splitlines()[:2] == [
        "input-wait-no-workers: Loading without workers",
        "(proven rule; refines input-wait; results stay the same)",
    ]
    assert "num_workers=N, persistent_workers=True" in page  # of *After*


def test_the_list_says_which_rules_are_proven() -> None:
    (line,) = (
        one for one in rule_list(RULES.values()).splitlines() if one.startswith("input-wait-no-workers")
    )
    assert line.split()[1] == "proven"
