"""The words of a comparison: in a terminal, as Markdown, as HTML."""

from __future__ import annotations

import html.parser
import io
from typing import Any

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from diagnose.compare.comparison import compare
from diagnose.compare.model import Comparison
from diagnose.document.model import Document, Metric
from diagnose.report.comparison import (
    comparison_html,
    comparison_markdown,
    headline,
    print_comparison,
    remarks,
    tables,
)

from .documents import HOSTILE_NAMES, change, changed, empty, hostile, sick


def recorded(*steps_ms: float, **metrics: Any) -> Document:
    document = sick()
    change(document.steps, plain_series_ms=list(steps_ms), timeline_series_ms=list(steps_ms))
    document.metrics = {name: Metric(value=value, unit="") for name, value in metrics.items()}
    return document


def printed(comparison: Comparison) -> str:
    console = Console(record=True, width=60, color_system=None, file=io.StringIO())
    print_comparison(comparison, console)
    return console.export_text()


def cured() -> Document:
    """The sick run without its wait: 8 ms instead of 12.3."""
    document = recorded(8.0, 8.0, 8.0)
    document.ledger = [
        changed(row, share=row.share / 0.667) for row in document.ledger if row.row != "input_wait"
    ]
    change(document.findings[0], state="quiet", group=None, ms_per_step=None, culprits=[])
    change(document.findings[0].evidence[0], value=0.0)
    document.lines = document.lines[1:]
    return document


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (
            (10, 10, 10),
            (8, 8, 8),
            "B is faster: a step takes 8.00 ms instead of 10.0 ms, 2.00 ms (20 %) less.",
        ),
        (
            (10, 10, 10),
            (12, 12, 12),
            "B is slower: a step takes 12.0 ms instead of 10.0 ms, 2.00 ms (20 %) more.",
        ),
        ((10, 10, 10), (40, 40, 40), "B is slower: a step takes 40.0 ms instead of 10.0 ms, 4.00 × as long."),
        ((10, 10, 10), (10, 10, 10), "No change beyond noise: a step takes 10.0 ms in A and 10.0 ms in B."),
        (
            (10, 10),
            (8, 8),
            "Too noisy to say: a step takes 10.0 ms in A and 8.00 ms in B, but these runs may differ by 6.42 "
            "ms (64 %) for other reasons.",
        ),
        (
            (10,) * 10,
            (10,) * 8 + (20,) * 4,
            "B is slower on average, slow steps included: 13.3 ms instead of 10.0 ms, 3.33 ms (33 %) more. "
            "The typical step stays within noise.",
        ),
    ],
)
def test_the_verdict_in_one_sentence(a: tuple[float, ...], b: tuple[float, ...], said: str) -> None:
    assert headline(compare(recorded(*a), recorded(*b))) == said


def test_what_cannot_be_compared_says_why_and_no_more() -> None:
    found = compare(empty(), sick())
    assert headline(found) == "Not comparable: no complete step was recorded in A."
    assert remarks(found) == []
    assert (
        "Not comparable" in printed(found)
        and "Not comparable" in comparison_markdown(found)
        and "Not comparable" in comparison_html(found)
    )


def test_how_far_the_verdict_can_be_trusted() -> None:
    a, b = (
        recorded(10, 10, 10, forward_batch_size=1.0),
        recorded(10, 10, 10, forward_batch_size=64.0, others_busy_share=0.2),
    )
    b.steps.plain_series_ms = []
    assert remarks(compare(a, b)) == [
        "The model is given 64 samples at once in B, 1 in A: a step may do other work, and times per step "
        "say little.",
        "Steps are compared as recorded, with what the profiler added: no steps without it were timed in "
        "both runs.",
        # √(0.5² + (0.5 × 0.2 × 10)²)
        "With one run each, a change of the step below 1.12 ms (11 %) cannot be told from noise.",
        "Other processes used 20 % of the machine's processor time during B.",
        "To know more, run both again, or let `python -m diagnose verify RUN` measure a fix with many runs "
        "in turns.",
    ]


def test_the_average_is_told_where_slow_steps_move_it() -> None:
    found = compare(recorded(*[10] * 9, 30), recorded(10, 10, 10))
    assert (
        remarks(found)[0]
        == "On average, slow steps included, a step takes 12.0 ms in A and 10.0 ms in B, within noise."
    )
    assert not remarks(compare(recorded(10, 10, 10), recorded(8, 8, 8)))[0].startswith("On average")


def test_a_terminal_shows_where_the_change_lies() -> None:
    shown = printed(compare(recorded(12.3, 12.3, 12.3), cured(), ("runs/1", "runs/2")))
    lines = [" ".join(row.split()) for row in shown.splitlines()]
    assert lines[:2] == ["A runs/1 · train.py", "B runs/2 · train.py"]
    assert "Input wait 4.10 ms 0 ms −4.10 ms" in lines
    assert "Forward 3.00 ms 2.93 ms within noise" in lines
    assert "The step 12.3 ms 8.00 ms −4.30 ms" in lines
    assert "Load batches in worker processes train.py:41 4.10 ms – gone" in lines
    assert "for x, y in loader: train.py:41 4.10 ms – −4.10 ms" in lines
    assert not any("Drop the bias" in row for row in lines)  # a finding of no weight in either run


def test_markdown_is_a_page_with_the_same_tables() -> None:
    page = comparison_markdown(compare(recorded(12.3, 12.3, 12.3), cured()))
    assert page.startswith(
        "**B is faster: a step takes 8.00 ms instead of 12.3 ms, 4.30 ms (35 %) less.**\n\n- A: "
        "`train.py`\n- "
        "B: `train.py`\n\n"
    )
    assert "| Load batches in worker processes | `train.py:41` | 4.10 ms |   – |     gone |" in page.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert page.endswith("|\n")


class _Tags(html.parser.HTMLParser):
    """Every tag, and the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


PLAIN = {
    "section",
    "p",
    "strong",
    "dl",
    "dt",
    "dd",
    "h3",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
}


def test_html_is_a_section_with_classes_and_nothing_that_runs() -> None:
    shown = comparison_html(compare(recorded(12.3, 12.3, 12.3), cured()))
    parser = _Tags()
    parser.feed(shown)
    assert shown.startswith('<section class="comparison">') and parser.open == []
    assert (parser.tags, parser.attributes) == (PLAIN, {"class"})
    assert (
        '<tr class="less"><td>Input wait</td><td class="number">4.10 ms</td><td class="number">0 ms</td>'
        in shown
    )
    assert '<tr class="total"><td>The step</td>' in shown


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_foreign_names_stay_text(name: str) -> None:
    a, b = hostile(name), hostile("other")
    a.steps.plain_series_ms, b.steps.plain_series_ms = [12.3] * 3, [5.0] * 3
    b.lines, a.findings[0].state = [changed(b.lines[0], self_ms=0.1)], "fires"
    change(b.findings[0], state="abstains", group=None, abstains_for={"reason": name, "option": ""})
    assert compare(a, b).verdict == "not_comparable"
    assert "<script" not in comparison_html(compare(a, b))
    b.run.device = name  # else nothing else is compared
    found = compare(a, b, (name, "b"))
    assert found.lines and found.differences
    parser = _Tags()
    shown = comparison_html(found)
    parser.feed(shown)
    assert (parser.tags <= PLAIN, parser.attributes) == (True, {"class"})
    page, lines = comparison_markdown(found), printed(found)
    for text in (page, lines, shown):
        assert not set(text) & set("\x1b\x00\x07\u202e\u200b\ud800\r")
    marks = {
        token.type
        for block in MarkdownIt("commonmark").enable("table").parse(page)
        for token in [block, *(block.children or [])]
    }
    assert not marks & {"image", "link_open", "em_open", "html_block", "fence"}
    assert max(map(len, lines.splitlines())) < 400
    assert {len(row.texts) - len(table.headers) for table in tables(found) for row in table.rows} == {0}
