"""Where the time of a run goes."""

from __future__ import annotations

import pytest

from benchmarks.run_budget import SCRIPT, page_of, stages_of

LINES = [
    (0.5, "diagnose: waiting for the first step …\n"),
    (3.0, "diagnose: warming up …\n"),
    (3.5, "diagnose: timing plain steps … 20 steps, about 1 s\n"),
    (4.0, "diagnose: timing plain steps … step 12 of 20\n"),
    (5.0, "a line of the script\n"),
    (6.0, "diagnose: analysing …\n"),
    (7.0, "The headline\n"),
    (7.1, "Report  out/report.html\n"),
]


def test_a_stage_lasts_until_the_next_one() -> None:
    assert stages_of(LINES, 8.0) == pytest.approx(
        {
            "starting": 0.5,
            "waiting for the first step": 2.5,
            "warming up": 0.5,
            "timing plain steps": 2.5,
            "analysing": 1.1,
            "writing the files": 0.9,
        }
    )


def test_the_page_adds_up() -> None:
    runs = [stages_of(LINES, 8.0), stages_of(LINES, 8.0), stages_of(LINES[:2], 20.0)]
    page = page_of(SCRIPT, runs, {"torch": 1.04})
    assert "| **all** | **8.0** |" in page and "| analysing | 1.1 |" in page
    assert "imports `torch` 1.0 s." in page
