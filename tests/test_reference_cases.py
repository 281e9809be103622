"""The reference cases: what is made of changes.toml, and the table."""

from __future__ import annotations

import pytest

from benchmarks.reference_cases import CASES, Case, Version, rows_of
from benchmarks.samples import FOLDER


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_version_is_python_and_differs_from_the_last(case: Case) -> None:
    scripts = [version.script for version in case.versions()]
    for script in scripts:
        compile(script, case.name, "exec")
    assert len(set(scripts)) == len(scripts) > 2


def test_all_changes_of_the_story_are_what_was_made_by_hand() -> None:
    folder = FOLDER / "stories" / "resnet"
    last = next(case for case in CASES if case.name == "resnet").versions()[-1]
    by_hand = (folder / "after.py").read_text(encoding="utf-8")
    assert last.script.splitlines()[1:] == by_hand.splitlines()[1:]  # the first says what the script is


def test_the_settings_are_those_of_the_published_table() -> None:
    loaders = [
        next(line for line in version.script.splitlines() if "DataLoader(Pictures" in line)
        for version in next(case for case in CASES if case.name == "mnist").versions()
    ]
    assert [("num_workers=1" in line, "pin_memory=True" in line) for line in loaders] == [
        (False, False),
        (True, False),
        (True, True),
    ]


def test_each_change_is_held_against_the_one_before_and_all_against_the_first() -> None:
    versions = [
        Version(change, needs, "") for change, needs in [("a", ""), ("b", "gpu"), ("c", ""), ("d", "")]
    ]
    seconds = [[9.0, 10.0, 12.0], [], [5.0, 4.0, 6.0], [4.0, 4.5, 4.0]]
    assert rows_of(versions, seconds) == [
        ("a", "10.00", "9.00–12.00", "", "1.00 ×"),
        ("b", "needs a GPU", "", "", ""),
        ("c", "5.00", "4.00–6.00", "−50%", "2.00 ×"),
        ("d", "4.00", "4.00–4.50", "−20%", "2.50 ×"),
    ]
