"""What is stated in several tables stands in each: rows of the ledger, formats, files of a run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.samples import FOLDER
from diagnose.commands import options
from diagnose.measure.ledger import TITLES
from diagnose.pipeline import report
from diagnose.report.formats import FORMATS, Output
from diagnose.report.html import row_class

from . import documents

ROOT = Path(__file__).parents[2]
CSS = (ROOT / "diagnose" / "report" / "page" / "css" / "page.css").read_text()


def test_each_row_of_the_ledger_has_a_colour():
    coloured = re.findall(r"^\.diagnose ([^{\n]*\.row-[^{\n]*) \{ --row: [^}]+; \}$", CSS, re.MULTILINE)
    assert set(re.findall(r"\.row-(\w+)", " ".join(coloured))) == set(TITLES)
    assert all(row_class(row) == f"row row-{row}" for row in TITLES)


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_can_be_asked_for_and_prints(name, capsys):
    assert name in options.REPORT_FORMATS
    output = Output(name)
    output.add(documents.sick())
    output.close()
    assert capsys.readouterr().out.strip()


def test_each_file_of_a_run_is_explained(tmp_path):
    report(FOLDER / "input-wait" / "sick", tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert {"report.html", "report.md", "report.json"} < left
    assert json.loads((tmp_path / "report.json").read_text())["plan"]
    layout = (ROOT / "docs" / "architecture.md").read_text()
    assert {name for name in left if name not in layout} == set()
