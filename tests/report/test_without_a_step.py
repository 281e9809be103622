"""Where nothing could be recorded every report says so in a sentence, and
nothing about what could not be judged.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from diagnose.document.headline import headline_of
from diagnose.report.markdown import markdown
from diagnose.report.page import fragment
from diagnose.report.terminal import print_summary

from . import documents
from .documents import Document, change, changed


def unrecorded(**changes: bool) -> Document:
    document = documents.without_a_step(**changes)
    return changed(document, headline=headline_of(document))


NO_TORCH = "train.py never imported torch, so there was nothing to record"
NO_STEP = "No step was seen in train.py: no optimizer step, backward or forward of a module"


@pytest.mark.parametrize(("torch_imported", "says"), [(False, NO_TORCH), (True, NO_STEP)])
def test_the_summary_is_one_sentence_and_where_the_report_lies(torch_imported: bool, says: str) -> None:
    stream = io.StringIO()
    print_summary(
        unrecorded(torch_imported=torch_imported),
        Path("out"),
        Console(file=stream, width=120, color_system=None),
    )
    assert stream.getvalue().split("\n") == ["", says, "", "Report       out/report.html", ""]


@pytest.mark.parametrize(("torch_imported", "says"), [(False, NO_TORCH), (True, NO_STEP)])
@pytest.mark.parametrize("render", [markdown, fragment])
def test_no_report_lists_what_could_not_be_judged(render: object, torch_imported: bool, says: str) -> None:
    assert callable(render)
    report = (
        render(unrecorded(torch_imported=torch_imported))
        .replace("`", "")
        .replace("<code>", "")
        .replace("</code>", "")
    )
    assert says in report
    assert "judged" not in report.lower() and "host-sync" not in report


def test_a_trace_without_a_whole_step_lists_no_rules_and_no_step_clock() -> None:
    document = documents.sick()
    failed = [finding for finding in document.findings if finding.error]
    document.findings = [finding for finding in document.findings if finding not in failed]
    change(document, ledger=[], plan=[])
    change(document.run, recorded_by_us=False)
    change(document.steps, clock="trace", step_source="whole trace", complete=0)
    for report in (markdown(document), fragment(document)):
        assert "host-sync" not in report and "judged" not in report and "Step clock" not in report


def test_how_it_ended_is_said_beside_it() -> None:
    document = unrecorded()
    document.run.ended = "timeout"
    stream = io.StringIO()
    print_summary(document, Path("out"), Console(file=stream, width=120, color_system=None))
    assert "ended by --timeout" in stream.getvalue()


@pytest.mark.parametrize("torch_imported", [None, True])
def test_where_steps_were_seen_the_verdict_is_another(torch_imported: bool | None) -> None:
    document = documents.crashed()
    document.run.torch_imported = torch_imported
    assert headline_of(document) == "The script failed before a complete step was recorded"
    assert "## What happened" in markdown(document)


@pytest.mark.parametrize(("ended", "how"), [("crashed", "failed"), ("killed", "was killed")])
@pytest.mark.parametrize("torch_imported", [False, True])
def test_a_script_that_failed_is_told_so_first(ended: str, how: str, torch_imported: bool) -> None:
    document = unrecorded(torch_imported=torch_imported)
    change(document.run, ended=ended)
    assert headline_of(document) == f"The script {how} before a complete step was recorded"
