"""The pages made from data are current, and the coverage table has no holes."""

from __future__ import annotations

import tomllib
from itertools import zip_longest
from pathlib import Path

import pytest

from diagnose.judge.rules import load_rules
from docs.generate import PAGES, ROOT

LISTED = tomllib.loads((ROOT / "docs" / "coverage.toml").read_text(encoding="utf-8"))
ROWS = [*LISTED["advice"], *LISTED["peer"]]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_generated_pages_are_current(path: Path) -> None:
    saved, made = path.read_text(encoding="utf-8").splitlines(), PAGES[path]().splitlines()
    differing = [pair for pair in zip_longest(saved, made) if pair[0] != pair[1]]
    assert differing[:3] == [], (
        f"{path.relative_to(ROOT)} is out of date in {len(differing)} lines: make docs"
    )


def test_every_row_is_covered_or_says_why_not() -> None:
    assert [row for row in ROWS if not row.get("rules") and not row.get("how")] == []


def test_every_rule_named_exists_and_every_rule_is_named() -> None:
    named, there = {rule for row in ROWS for rule in row.get("rules", [])}, set(load_rules())
    assert named <= there, f"docs/coverage.toml names rules that do not exist: {named - there}"
    assert there <= named, f"add to a row of docs/coverage.toml: {there - named}"


def test_no_rule_of_another_tool_is_left_out() -> None:
    kinds = {"A": 13, "B": 11, "C": 17, "D": 17, "E": 8, "F": 5, "G": 15, "H": 7}
    assert [row["id"] for row in LISTED["peer"]] == [
        f"{kind}{number}" for kind, count in kinds.items() for number in range(1, count + 1)
    ]
