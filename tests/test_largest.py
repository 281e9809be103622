"""Every renderer on the largest trace at hand, which others recorded.

It is looked for in ``../shared/traces``; without it, skipped.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import time
from pathlib import Path

import pytest
from rich.console import Console

from diagnose.compare.comparison import compare
from diagnose.pipeline import analysis_of, report
from diagnose.report.card import finished_card
from diagnose.report.comparison import comparison_html, comparison_markdown
from diagnose.report.github import workflow_commands
from diagnose.report.markdown import markdown
from diagnose.report.page import MOST_BYTES, page
from diagnose.report.sarif import sarif
from diagnose.report.terminal import print_summary

FILES = sorted(
    (Path(__file__).parents[2] / "shared" / "traces").glob("*.gz"), key=lambda path: path.stat().st_size
)
pytestmark = pytest.mark.skipif(not FILES, reason="no recorded traces in ../shared/traces")


@pytest.fixture(scope="module")
def analysis():
    return analysis_of(FILES[-1])


def test_all_files_are_written(tmp_path):
    report(FILES[-1], tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        "brief.json",
        "brief.md",
        "report.json",
        "report.md",
        "report.html",
        "picture.json.gz",
        "annotated.trace.json.gz",
        "tb",
    }
    events = json.loads(gzip.decompress((tmp_path / "annotated.trace.json.gz").read_bytes()))["traceEvents"]
    assert len(events) > len(json.loads(gzip.decompress(FILES[-1].read_bytes()))["traceEvents"])
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


def test_the_page_takes_no_longer_than_twice_the_analysis():
    began = time.process_time()
    analysis = analysis_of(FILES[-1])
    document = analysis.document
    analysed = time.process_time()
    drawn = page(document, analysis.picture)
    assert time.process_time() - analysed < 2 * (analysed - began)
    assert len(drawn.encode()) < MOST_BYTES


def test_all_other_renderers_say_what_is_planned(analysis):
    document = analysis.document
    titles = [row.fix for row in document.plan]
    assert titles
    console = Console(file=io.StringIO(), width=80)
    print_summary(document, Path("out"), console)
    said = [
        markdown(document),
        json.dumps(sarif([document])),
        workflow_commands(document),
        finished_card(document, "report.html"),
    ]
    for text in [console.file.getvalue(), *said]:
        assert re.split("[`,]", titles[0])[0] in text  # a comma is escaped in some


def test_it_is_as_fast_as_itself(analysis):
    same = compare(analysis.document, analysis.document)
    assert same.verdict == "no_change"
    assert comparison_markdown(same) and comparison_html(same)
