"""Annotations of a GitHub workflow: the right line of the repository, and
nothing that could end a command early.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from diagnose.report.alerts import Spot, level, spot
from diagnose.report.github import workflow_commands

from . import documents
from .documents import HOSTILE_NAMES, Document, change, changed


def at_home(document: Document, cwd: str = "/repo") -> Document:
    document.run.cwd = cwd
    return document


def test_a_finding_is_a_warning_at_its_line() -> None:
    assert workflow_commands(at_home(documents.sick()), root=Path("/repo")) == (
        "::warning file=train.py,line=41,title=Load batches in worker processes::Input loading without "
        "workers takes 33 %25 of each step: load batches in worker processes to save 2.9–4.1 ms a step, "
        "24–33 %25."
    )


def test_what_is_not_known_is_left_out() -> None:
    """A share of what only some steps have, a saving that nobody predicts or that is nothing by itself."""
    document = at_home(documents.two_fixes())
    document.findings[0].saving.scope = "average"
    change(document.findings[0].saving, predicted_ms=None, at_most_ms=None)
    first, second = workflow_commands(document, root=Path("/repo")).splitlines()
    assert first.endswith("::Input loading without workers: load batches in worker processes.")
    assert second.endswith("::Fp32 no autocast takes 41 %25 of each step: use autocast.")  # 5.0 of 12.3 ms


def test_there_is_a_line_for_each_finding_of_the_plan_and_none_without() -> None:
    lines = workflow_commands(at_home(documents.two_fixes()), root=Path("/repo")).splitlines()
    assert [line.rpartition("::")[0] for line in lines] == [
        "::warning file=train.py,line=41,title=Load batches in worker processes",
        "::warning file=train.py,line=1,title=Use autocast",  # no line is known: the script's first
    ]
    assert workflow_commands(documents.healthy()) == ""


def test_the_problem_matcher_of_the_documentation_reads_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ci.md").read_text()
    tasks = json.loads(page.partition(".vscode/tasks.json")[2].partition("```json\n")[2].partition("```")[0])
    pattern = tasks["tasks"][0]["problemMatcher"]["pattern"]
    document = at_home(documents.two_fixes())
    document.findings[0].fix.title = "100 %: a,\r\nb"
    found = [
        re.fullmatch(pattern["regexp"], line)
        for line in workflow_commands(document, root=Path("/repo")).splitlines()
    ]
    assert [one and one.group(pattern["severity"], pattern["file"], pattern["line"]) for one in found] == [
        ("warning", "train.py", "41"),
        ("warning", "train.py", "1"),
    ]
    assert found[0] and found[0][pattern["message"]].startswith("Input loading without workers")


def test_marks_that_commands_are_made_of_are_escaped() -> None:
    document = at_home(documents.sick())
    document.findings[0].fix.title = "100 %: a,\r\nb"
    document.findings[0].cause = "Slow,\n::error::by 5 %,"
    line = workflow_commands(document, root=Path("/repo"))
    assert line.startswith(
        "::warning file=train.py,line=41,title=100 %25%3A a%2C b::Slow, ::error::by 5 %25, takes 33 %25 of each step"
    )


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_cannot_end_the_line(name: str) -> None:
    lines = workflow_commands(at_home(documents.hostile(name)), root=Path("/repo"))
    assert lines.startswith("::warning ")
    assert len(lines.splitlines()) == 1 and lines.isprintable()
    properties = lines[2:].split("::")[0]
    assert [one.partition("=")[0] for one in properties.removeprefix("warning ").split(",")] in (
        ["file", "line", "title"],
        ["title"],
    )


# ---- how loudly


@pytest.mark.parametrize(
    ("severity", "fail_on", "expected"),
    [
        ("high", None, "warning"),
        ("medium", None, "warning"),
        ("low", None, "note"),
        ("high", "high", "error"),
        ("medium", "high", "warning"),
        ("low", "low", "error"),
    ],
)
def test_only_what_fails_the_job_is_an_error(severity: str, fail_on: str | None, expected: str) -> None:
    finding = changed(documents.sick().findings[0], severity=severity)
    assert level(finding, fail_on) == expected


def test_commands_are_named_as_github_names_them() -> None:
    document = at_home(documents.sick())
    document.findings[0].severity = "low"
    assert workflow_commands(document, root=Path("/repo")).startswith("::notice ")
    assert workflow_commands(document, "low", root=Path("/repo")).startswith("::error ")


# ---- where


@pytest.mark.parametrize(
    ("cwd", "file", "expected"),
    [
        ("/repo", "train.py", "train.py"),
        ("/repo/jobs", "train.py", "jobs/train.py"),
        ("/repo/jobs", "../lib/net.py", "lib/net.py"),
        ("/repo", "/repo/lib/net.py", "lib/net.py"),
        ("/repo", "/usr/lib/net.py", None),
        ("/elsewhere", "train.py", None),
        (None, "lib/net.py", "lib/net.py"),  # a trace: nobody knows where it was recorded
    ],
)
def test_a_file_is_told_from_the_root_of_the_repository(
    cwd: str | None, file: str, expected: str | None
) -> None:
    document = documents.sick()
    document.run.cwd = cwd
    document.findings[0].culprits[0].file = file
    assert spot(document.findings[0], document, Path("/repo")) == (Spot(expected, 41) if expected else None)


def test_the_root_is_where_the_job_checked_it_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = at_home(documents.sick(), str(tmp_path / "a"))
    monkeypatch.chdir(tmp_path / "..")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    assert f"file={tmp_path.name}/a/train.py," in workflow_commands(document)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert "file=a/train.py," in workflow_commands(document)


def test_a_module_without_a_line_has_no_file() -> None:
    document = at_home(documents.sick())
    change(document.run, module=True, target="pkg.train")
    document.findings[0].culprits = []
    assert workflow_commands(document, root=Path("/repo")).startswith("::warning title=Load batches")
