"""The gates every rule passes: its cases hold, no condition is idle, no threshold
is arbitrary within a factor of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from diagnose.errors import DiagnoseError
from diagnose.judge.findings import holds
from diagnose.judge.gates import BARE, GATES, Cases, cases_of, complaints, left_to_do
from diagnose.judge.rules import Condition, Rule, load_rules, rules_folder
from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.user_code import CALLS
from diagnose.measure.metrics import METRICS
from diagnose.measure.selection import SELECTORS

RULES = load_rules()
EMPTY = measured_case(BARE)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.__name__)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_passes(rule: Rule, gate: Callable[[Rule, Cases], list[str]]) -> None:
    assert gate(rule, cases_of(rule.id, rules_folder())) == []


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_nothing_is_left_to_do(rule: Rule) -> None:
    assert left_to_do(rule, rules_folder()) == []


# ---- rules of one's own

OWN = """\
id = "hashing-in-loop"
status = "preview"
refines = "python"
symptom = "Every step hashes a file."
why = "Hashing reads all of it."
references = ["https://docs.python.org/3/library/hashlib.html"]

[events]
calls = '^<built-in method (update|hexdigest) of _hashlib'
meaning = "calls of `hashlib`"

[[when]]
metric = "hashing_calls_share"
op = ">="
value = 0.05
because = "noise"

[culprits]
selector = "hashing_calls"

[fix]
title = "Hash once"
how = "Keep the digest."
safety = "manual"

[saving]
edit = "remove"
scope = "step"
"""
CASE = (
    """
[[case]]
name = "{name}"
expect = "{expect}"
calls = "100  {took}  41  <built-in method update of _hashlib.HASH object>"
timeline = """
    + '"""'
    + """
main  0    1000  step  ProfilerStep#1
main  500  400   op    aten::mm
"""
    + '"""'
    + """
"""
)
NOT_RECORDED = (
    """
[[case]]
name = "calls were not recorded"
expect = "abstains"
timeline = """
    + '"""'
    + """
main  0    1000  step  ProfilerStep#1
main  500  400   op    aten::mm
"""
    + '"""'
    + """
"""
)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "hashing-in-loop.toml").write_text(OWN)
    cases = [("80 of 1,000 µs", "fires", 80), ("60 µs", "fires", 60), ("40 µs", "quiet", 40)]
    text = "".join(CASE.format(name=name, expect=expect, took=took) for name, expect, took in cases)
    (tmp_path / "hashing-in-loop.cases.toml").write_text(text + NOT_RECORDED)
    yield tmp_path
    for registered in (METRICS, SELECTORS, CALLS):
        for name in [name for name in registered if name.startswith("hashing_calls")]:
            del registered[name]


def test_a_rule_of_ones_own_is_two_files_and_passes_the_same_gates(own: Path) -> None:
    rules = load_rules(rules_folder(), own)
    assert set(rules) == {*RULES, "hashing-in-loop"}
    rule = rules["hashing-in-loop"]
    assert rule.when[0].because.startswith("below 5 % of the step")
    assert complaints(rule, own) == []


def test_a_threshold_that_no_case_pins_is_named(own: Path) -> None:
    cases = own / "hashing-in-loop.cases.toml"
    loose = "".join(
        CASE.format(name=expect, expect=expect, took=took) for expect, took in [("fires", 200), ("quiet", 10)]
    )
    cases.write_text(loose + NOT_RECORDED)
    cases_of.cache_clear()
    assert complaints(load_rules(rules_folder(), own)["hashing-in-loop"], own) == [
        "add a case with hashing_calls_share between 0.05 and 0.025",
        "add a case with hashing_calls_share between 0.05 and 0.1",
    ]


def test_a_rule_without_cases_and_one_that_takes_a_bundled_name_are_refused(own: Path) -> None:
    (own / "hashing-in-loop.cases.toml").unlink()
    cases_of.cache_clear()
    with pytest.raises(DiagnoseError, match="holds no cases"):
        complaints(load_rules(rules_folder(), own)["hashing-in-loop"], own)
    (own / "checkpoint-in-loop.toml").write_text(OWN.replace("hashing-in-loop", "checkpoint-in-loop"))
    with pytest.raises(DiagnoseError, match="two rules are called checkpoint-in-loop"):
        load_rules(rules_folder(), own)


@pytest.mark.parametrize(
    ("now", "then", "what"),
    [
        ("calls = '^<built-in", "calls = '(^<built-in", "is no regular expression"),
        (
            'selector = "hashing_calls"',
            'selector = "file_calls"',
            "two kinds of events are called file_calls",
        ),
        ("meaning = ", "means = ", "'meaning' is missing"),
        ('hashlib`"', 'hashlib`"\ntime = "all"', "'all' is unknown"),
    ],
)
def test_events_that_cannot_be(own: Path, now: str, then: str, what: str) -> None:
    path = own / "hashing-in-loop.toml"
    path.write_text(path.read_text().replace(now, then))
    with pytest.raises(DiagnoseError, match=what):
        load_rules(rules_folder(), own)


# ---- judging


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
