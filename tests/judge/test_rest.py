"""A rule for the rest says nothing of lines that another rule explains; worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from diagnose.judge.culprits import Culprit
from diagnose.judge.findings import Finding, without_explained
from diagnose.judge.rules import load_rules

RULES = load_rules()
OWN = Finding(
    RULES["own-line-dominates"],
    "fires",
    (),
    5.0,
    (Culprit("a.py", 7, "f", 1.0, 3.0), Culprit("a.py", 9, "f", 1.0, 2.0)),
)


def other(line: int, ms: float) -> Finding:
    return Finding(RULES["tensor-from-list"], "fires", (), ms, (Culprit("a.py", line, "f", 1.0, ms),))


def test_a_line_that_another_rule_explains_is_its_own() -> None:
    left = without_explained(OWN, [OWN, other(7, 1.6)])
    assert ([one.line for one in left.culprits], left.ms_per_step) == ([9], 2.0)


def test_less_than_half_of_a_line_explains_it_not() -> None:
    assert without_explained(OWN, [OWN, other(7, 1.4)]) is OWN


def test_where_every_line_is_explained_nothing_is_left_to_say() -> None:
    assert without_explained(OWN, [OWN, other(7, 3.0), other(9, 2.0)]).state == "quiet"


def test_a_rule_that_does_not_fire_explains_nothing() -> None:
    assert without_explained(OWN, [OWN, replace(other(7, 3.0), state="quiet")]) is OWN
