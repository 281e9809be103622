"""`python -m diagnose compare` as a user types it, on bundled recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import compare as comparing
from diagnose.document.stored import to_json, write_text
from diagnose.errors import EXIT_FINDINGS, EXIT_OK, UsageError
from diagnose.pipeline import analyse

SAMPLES = Path(__file__).parents[2] / "sample_traces"
SICK, HEALTHY = (str(SAMPLES / "host-reads" / twin) for twin in ("sick", "healthy"))
TRACE = str(SAMPLES / "host-reads" / "sick" / "rank0" / "timeline.pt.trace.json.gz")


def answered(*argv: str) -> int:
    return comparing.run(comparing.parser().parse(argv))


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert answered(*argv, "--json") == EXIT_OK
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of the sick run, in a folder of its own."""
    path = tmp_path_factory.mktemp("out") / "report.json"
    write_text(to_json(analyse(Path(SICK)), indent=1), path)
    return path


def test_a_user_reads_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(SICK, HEALTHY) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("A  ") and lines[0].endswith(" · sick.py")
    assert lines[3].startswith("B is faster: a step takes ")
    assert any(line.split()[:3] == ["Reading", "tensor", "values"] and "−" in line for line in lines)
    assert any(line.endswith("gone") for line in lines)


def test_runs_reports_and_folders_with_reports_say_the_same(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file, folder = (document(capsys, one, HEALTHY) for one in (SICK, str(report), str(report.parent)))
    assert run["step"] == file["step"] == folder["step"]
    assert run["ledger"] == file["ledger"] == folder["ledger"]
    assert (run["a"]["name"], file["a"]["name"]) == (SICK, str(report))


def test_a_lone_trace_is_compared_as_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, TRACE, HEALTHY)["basis"] == "recorded"


def test_markdown_is_ready_for_a_pull_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(SICK, HEALTHY, "--format", "markdown") == EXIT_OK
    assert capsys.readouterr().out.startswith("**B is faster: ")


@pytest.mark.parametrize(
    ("a", "b", "code"), [(HEALTHY, SICK, EXIT_FINDINGS), (SICK, HEALTHY, EXIT_OK), (SICK, SICK, EXIT_OK)]
)
def test_ci_fails_only_if_b_is_slower(a: str, b: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(a, b, "--fail-on", "slower") == code
    assert answered(a, b) == EXIT_OK
    capsys.readouterr()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "two runs"),
        ([SICK], "two runs"),
        ([SICK, "nosuch"], "there is no nosuch"),
        ([SICK, SICK + ".py"], "is no run folder, report or trace"),
        ([SICK, str(SAMPLES)], "no traces in this folder"),
        ([SICK, HEALTHY, "--fail-on", "faster"], "invalid choice"),
        ([SICK, HEALTHY, "--oops"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_is_one_clear_message(argv: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        answered(*argv)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": 1, "tool": {"name": "diagnose"}', "is damaged"),
        ('{"schema": 1, "tool": {"name": "diagnose"}, "ledger": 3}', "is damaged, or of another version"),
        ("[1]", "is no result document"),
    ],
)
def test_a_damaged_report_is_named(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=said):
        answered(str(tmp_path), HEALTHY)
