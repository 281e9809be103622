"""What a report knows of where it lies: the folders, the Python and the script that its commands name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from diagnose.document.model import Document
from diagnose.document.queries import report_folder, run_command, run_folder
from diagnose.report import next_steps
from diagnose.report.markdown import markdown
from diagnose.report.write import written_into

from . import documents
from .documents import changed


@pytest.fixture
def document(tmp_path: Path) -> Document:
    """Of a run in the folder `job`, with a fix that can be tried."""
    run = tmp_path / "job" / "diagnosis" / "1"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (tmp_path / "job" / "train.py").write_text("")
    document = documents.sick()
    document.findings[0].fix.intervention = "dataloader"
    document.run.cwd = str(tmp_path / "job")
    return document


def written(document: Document, out: Path, source: str | Path) -> Document:
    return changed(document, written=written_into(out, source, document))


def test_a_report_in_its_run_folder_names_it_from_where_the_script_ran(
    document: Document, tmp_path: Path
) -> None:
    run = tmp_path / "job" / "diagnosis" / "1"
    here = written(document, run, run)
    assert run_folder(here) == report_folder(here) == "diagnosis/1"
    assert next_steps.verify_command(here).endswith("-m diagnose verify diagnosis/1")


def test_a_report_elsewhere_names_both_folders(document: Document, tmp_path: Path) -> None:
    run, out = tmp_path / "job" / "diagnosis" / "1", tmp_path / "out"
    there = changed(written(document, out, run), patch={"patched": [document.plan[0].rule], "unpatched": {}})
    assert (run_folder(there), report_folder(there)) == ("diagnosis/1", str(out))
    assert f"`git apply {out}/fixes.diff` makes fix 1" in markdown(there)


def test_without_the_script_no_command_runs_it(document: Document, tmp_path: Path) -> None:
    (tmp_path / "job" / "train.py").unlink()
    gone = written(document, tmp_path / "out", tmp_path / "job" / "diagnosis" / "1")
    assert next_steps.verify_command(gone) == run_command(gone) == ""
    assert next_steps.then(gone).startswith("Then run it again where it was recorded; `")


@pytest.mark.parametrize("trace", ["trace.json", "s3://bucket/trace.json"])
def test_a_trace_has_no_run_folder(trace: str, document: Document, tmp_path: Path) -> None:
    assert run_folder(written(document, tmp_path, trace)) == ""


def test_python_is_named_as_it_can_be_typed(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def python() -> str:
        return written_into(tmp_path, tmp_path, document).python

    for folder in ("here/bin", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("python", "python3"):
            (tmp_path / folder / name).write_text("")
            (tmp_path / folder / name).chmod(0o755)
    own = tmp_path / "here" / "bin" / "python"
    monkeypatch.setattr(sys, "executable", str(own))
    monkeypatch.setenv("PATH", str(own.parent) + os.pathsep + str(tmp_path / "elsewhere"))
    assert python() == "python"
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert python() == str(own)
    monkeypatch.chdir(tmp_path / "here")
    assert python() == "bin/python"
