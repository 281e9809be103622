"""Which line stands for a finding."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from diagnose.document.queries import line_to_change, place, planned, ways_instead
from diagnose.judge.rules import load_rules
from diagnose.report import sentences
from diagnose.report.brief import brief
from diagnose.report.markdown import markdown
from diagnose.report.page import fragment
from diagnose.report.terminal import print_summary

from . import documents


@pytest.mark.parametrize(
    ("lines_ms", "functions", "line"),
    [
        ([3.0, 2.0], "ff", 23),  # a quarter of 10 ms and more
        ([2.0, 1.9, 1.5], "fff", 23),  # 5.4 of 10 ms in one function
        ([2.0, 1.9, 1.5], "fgg", None),
        ([2.0, 1.9], "ff", None),
    ],
)
def test_the_costliest_line_stands_for_its_function_if_that_takes_most(
    lines_ms: list[float], functions: str, line: int | None
) -> None:
    finding = documents.sick().findings[0]
    culprits = [
        replace(finding.culprits[0], file="cells.py", line=23 + number, function=function, ms_per_step=ms)
        for number, (ms, function) in enumerate(zip(lines_ms, functions, strict=True))
    ]
    finding.culprits, finding.ms_per_step, finding.fix.call_sites = culprits, 10.0, []
    found = place(finding)
    assert (found.line if found is not None else None) == line


def test_where_the_time_is_spent_elsewhere_both_lines_are_told() -> None:
    document = documents.sick()
    finding = planned(document)[0]
    assert sentences.where(finding) == "`train.py:41`"
    call = {"file": "a `b`.py", "line": 33, "source": "loader = DataLoader(data)"}
    documents.change(finding.fix, call_sites=[call])
    told = "a 'b'.py:33, time at train.py:41"
    assert sentences.where(finding) == "`a 'b'.py:33`, time at `train.py:41`"
    for page in (markdown(document), fragment(document)):
        assert told in re.sub(r"</?code>|`", "", html.unescape(page))
    stream = io.StringIO()
    print_summary(document, Path("out"), Console(file=stream, width=100, color_system=None))
    assert told in stream.getvalue()
    assert brief(document).fixes[0].where == ["a `b`.py:33", "train.py:41"]


def test_a_fix_is_told_at_the_one_call_that_it_changes() -> None:
    finding = documents.sick().findings[0]
    blamed = place(finding)
    calls = [{"file": "data.py", "line": line, "source": "loader = DataLoader(data)"} for line in (7, 9)]
    for sites, line in (([], blamed and blamed.line), (calls[:1], 7), (calls, blamed and blamed.line)):
        documents.change(finding.fix, call_sites=sites)
        found = line_to_change(finding)
        assert found is not None and found.line == line


@pytest.mark.parametrize(("second_call", "told"), [(7, 1), (9, 2)])
def test_of_alternatives_that_change_one_line_the_best_is_told(second_call: int, told: int) -> None:
    document = documents.sick()
    finding = planned(document)[0]
    others = [replace(finding, rule=f"other-{number}", fix=replace(finding.fix)) for number in (1, 2)]
    for other, blamed, line in zip(others, (3, 4), (7, second_call), strict=True):
        other.group, other.alternative_to = "alternative", finding.rule
        other.culprits = [replace(finding.culprits[0], line=blamed)]
        documents.change(other.fix, call_sites=[{"file": "a.py", "line": line, "source": "Adam(weights)"}])
    document.findings += others
    assert [other.rule for other in ways_instead(finding, document)] == ["other-1", "other-2"][:told]


def test_where_samples_are_to_be_cheaper_the_line_is_theirs() -> None:
    """The loader's call is not what the fix changes."""
    rules = load_rules()
    for name in ("input-wait-no-core", "input-wait-workers-busy", "workers-take-cores", "slow-item-line"):
        assert not rules[name].fix.call
