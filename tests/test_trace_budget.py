"""What a trace's reports cost, stage by stage, and when a stage has grown."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import trace_budget
from benchmarks.trace import SAMPLE
from benchmarks.trace_budget import Entry, grown, page_of

BEFORE = Entry(
    "abc1234",
    "2026-01-02",
    "some",
    10.0,
    0.1,
    {
        "inflate": 0.2,
        "tables": 1.0,
        "account": 0.5,
        "judge": 1.0,
        "predict": 0.3,
        "document": 0.5,
        "timeline": 2.0,
        "reports": 0.04,
    },
    3.0,
)


def test_a_stage_has_grown_from_a_quarter_and_a_tenth_of_the_decode_on() -> None:
    stages = BEFORE.stages | {"tables": 1.2, "judge": 1.3, "reports": 0.1, "new": 5.0}
    assert grown(replace(BEFORE, stages=stages), BEFORE) == [
        "some: judge grew from 1.00 to 1.30 × the decode"
    ]


def test_memory_has_grown_from_a_tenth_on() -> None:
    assert grown(replace(BEFORE, peak=3.2), BEFORE) == []
    assert grown(replace(BEFORE, peak=3.4), BEFORE) == [
        "some: the peak memory grew from 3.00 to 3.40 × the file"
    ]


def test_the_page_has_a_line_for_each_entry() -> None:
    page = page_of([BEFORE, replace(BEFORE, commit="def5678")])
    # 1 for the decode, 0.2 + 1 + 0.5 + 1 + 0.3 + 0.5
    assert "| 2026-01-02 | abc1234 | 0.10 s | **4.5** | 0.20 |" in page
    assert page.count("## some, 10 MB") == 1 and "def5678" in page


def test_every_stage_of_a_trace_is_timed() -> None:
    told = trace_budget.staged(SAMPLE)
    assert set(told) == {*BEFORE.stages, "decode", "mb"}
    assert all(seconds >= 0 for seconds in told.values()) and told["mb"] > 0
