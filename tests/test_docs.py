"""The pages made from data are current, the coverage table has no holes, and what the pages say to type is
understood.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import takewhile, zip_longest
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS
from diagnose.commands.main import parse
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


def test_what_a_row_says_is_in_a_fix_of_its_rules() -> None:
    """`says`: words of the advice that a rule's text must hold, for one was said that stood nowhere."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.toml")}
    claims = [row for row in ROWS if "says" in row]
    missing = [
        (row["item"], word)
        for row in claims
        for word in row["says"]
        if not any(word in texts[rule] for rule in row["rules"])
    ]
    assert claims and missing == []
    claiming = re.compile(r"\b(is|named|listed) in (its|their) fix")
    assert [row for row in ROWS if claiming.search(row.get("how", "")) and "says" not in row] == []


def test_every_rule_named_exists_and_every_rule_is_named() -> None:
    named, there = {rule for row in ROWS for rule in row.get("rules", [])}, set(load_rules())
    assert named <= there, f"docs/coverage.toml names rules that do not exist: {named - there}"
    assert there <= named, f"add to a row of docs/coverage.toml: {there - named}"


def test_no_rule_of_another_tool_is_left_out() -> None:
    kinds = {"A": 13, "B": 11, "C": 17, "D": 17, "E": 8, "F": 5, "G": 15, "H": 7}
    assert [row["id"] for row in LISTED["peer"]] == [
        f"{kind}{number}" for kind, count in kinds.items() for number in range(1, count + 1)
    ]


# ---- what readers are told to type

WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL = {"|", ">", "&&", ";", "||"}


def typed(page: Path) -> Iterator[list[str]]:
    """The words behind `-m diagnose` and `-m benchmarks` of each command in a page's blocks of code."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```(?:sh|yaml|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            if " -m diagnose" in line or " -m benchmarks" in line:
                yield from _words(line)


def _words(line: str) -> Iterator[list[str]]:
    words = shlex.split(line, comments=True)
    if "-c" in words and "bash" in words:
        yield from _words(words[words.index("-c") + 1])
        return
    for at, word in enumerate(words[:-1]):
        if word == "-m" and words[at + 1] in ("diagnose", "benchmarks"):
            yield list(takewhile(lambda word: word not in SHELL, words[at + 1 :]))


COMMANDS = [(page, words) for page in WRITTEN for words in typed(page)]


@pytest.mark.parametrize(
    ("page", "words"), COMMANDS, ids=[f"{page.name}: {shlex.join(words)}" for page, words in COMMANDS]
)
def test_a_command_in_a_page_is_understood(page: Path, words: list[str]) -> None:
    if words[0] == "diagnose":
        parse(words[1:])
    else:
        assert words[1:] and words[1] in BENCHMARKS


def test_commands_were_found() -> None:
    assert {page.name for page, _ in COMMANDS} >= {"README.md", "ci.md", "containers.md", "many-ranks.md"}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_pages_name_files_that_are_there(page: Path) -> None:
    named = set(re.findall(r"docs/[\w.-]*\w", page.read_text(encoding="utf-8")))
    assert {name for name in named if not (ROOT / name).exists()} == set()
