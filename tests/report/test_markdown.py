"""report.md says the right things, in the right order, whatever it is given."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from diagnose.report import markdown as rendering

from . import documents
from .documents import HOSTILE_NAMES, Document

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OUR_HTML = re.compile(r"(?:\s|</?(?:details|summary|b|code)>|Seen, not worth your time|Not judged|How this was measured)*")


def markdown(document: Document, *, collapsible: bool = True) -> str:
    """The report with ordinary spaces."""
    return rendering.markdown(document, collapsible=collapsible).replace("\N{NO-BREAK SPACE}", " ")


def first_screen(report: str) -> str:
    return report[: report.index("## Where a step's time goes")]


def test_the_first_screen_answers_what_where_how_sure_and_what_to_type() -> None:
    screen = first_screen(markdown(documents.sick()))
    assert "The training thread waits for the next batch" in screen
    assert "`train.py:41`" in screen
    assert "at most 3.90 ms (32 %)" in screen
    assert "preview rule, upper bound" in screen
    assert "Pass `num_workers=2, persistent_workers=True` to the DataLoader." in screen
    assert "python -m diagnose train.py --epochs 3" in screen
    assert len(screen.splitlines()) < 25


def test_sections_come_in_the_order_a_reader_needs_them() -> None:
    report = markdown(documents.sick())
    wanted = [
        "What to do",
        "Where a step's time goes",
        "Findings",
        "Would matter on a GPU",
        "Seen, not worth your time",
        "Not judged",
        "Your lines",
        "Operators",
        "How this was measured",
    ]
    places = [report.index(title) for title in wanted]
    assert places == sorted(places)


def test_a_finding_shows_evidence_culprits_advice_and_how_sure_we_are() -> None:
    report = markdown(documents.sick())
    finding = report[report.index("### 1. Load batches") : report.index("## Would matter")]
    for part in (
        "33 %",
        "at least 5.0 %",
        "for x, y in loader:",
        "**Why.**",
        "**How.**",
        "**Caution.**",
        "not yet proven",
        "<https://docs.pytorch.org",
    ):
        assert part in finding


def test_a_stable_measured_finding_says_so() -> None:
    document = documents.sick()
    finding = document["findings"][0]
    finding["status"], finding["saving"]["measured_ms"] = "stable", {"low": 3.1, "high": 3.6}
    report = markdown(document)
    assert "measured 3.10–3.60 ms" in report
    assert "proven rule, gain measured" in report
    assert "stayed quiet on their healthy twins" in report


def test_the_ledger_adds_up_to_the_step_and_starts_with_the_largest_part() -> None:
    report = markdown(documents.sick())
    rows = re.findall(r"^\| (Input wait|Backward|Forward|Optimizer|Python|\*\*Step\*\*) .*$", report, re.MULTILINE)
    assert rows == ["Input wait", "Backward", "Forward", "Optimizer", "Python", "**Step**"]
    assert re.search(r"\*\*Step\*\* +\| +12\.3 ms \| +100 % ", report)


def test_rules_that_could_not_be_judged_are_grouped_by_what_they_lacked() -> None:
    report = markdown(documents.sick())
    assert "`pageable-htod-copies`, `host-sync`" in report
    assert "`--device cuda`" in report
    assert "ZeroDivisionError" in report


def test_a_minor_finding_says_why_it_is_not_worth_it() -> None:
    document = documents.sick()
    assert "below the noise of this run (0.310 ms per step)" in markdown(document)
    document["findings"][1]["because_of"] = "a-rule-that-is-not-in-the-plan"
    assert "explained better by: a-rule-that-is-not-in-the-plan" in markdown(document)


def test_what_follows_from_a_finding_hangs_below_it() -> None:
    document = documents.sick()
    cause, consequence = document["findings"][:2]
    consequence["because_of"] = cause["rule"]
    report = markdown(document)
    assert f"**The same time is also seen as.** {consequence['fix']['title']}" in report
    assert "Seen, not worth your time" not in report


def test_the_call_to_change_is_shown_where_it_is_not_the_line_to_blame() -> None:
    document = documents.sick()
    finding = document["findings"][0]
    blamed = {name: finding["culprits"][0][name] for name in ("file", "line", "source")}
    finding["fix"]["call_sites"] = [blamed, {"file": "data.py", "line": 7, "source": "loader = DataLoader(data)"}]
    assert "**The call to change.** `data.py:7` `loader = DataLoader(data)`\n" in markdown(document)


def test_a_healthy_run_is_told_so_and_what_bounds_it() -> None:
    report = markdown(documents.healthy())
    assert "Nothing: no fix we know of" in report
    assert "The largest part of the step is compute, 95 % of it" in report
    assert "What bounds the step" in report
    assert "## Findings" not in report
    assert "By self device time" in report


def test_a_crash_says_what_happened_what_was_recorded_and_what_to_try() -> None:
    report = markdown(documents.crashed())
    assert "failed by itself (exit code 1)" in report
    assert "warm-up 1" in report
    assert "Mend the failure first" in report
    assert "python -m diagnose train.py" in report
    assert "What to do" not in report


def test_a_run_that_ended_badly_after_complete_steps_still_has_its_plan() -> None:
    document = documents.sick()
    document["run"] |= {"ended": "killed", "exit_code": None, "signal": "SIGKILL"}
    screen = first_screen(markdown(document))
    assert "killed by SIGKILL" in screen
    assert "Load batches" in screen


def test_numbers_keep_their_units_in_narrow_columns() -> None:
    report = rendering.markdown(documents.sick())
    assert "| at most 3.90\N{NO-BREAK SPACE}ms (32\N{NO-BREAK SPACE}%) |" in report


def test_what_was_lost_is_said_on_the_first_screen() -> None:
    document = documents.sick()
    assert "> - timeline: 2 events without an end" in first_screen(markdown(document))
    document["notes"] = [f"note {number}" for number in range(9)]
    screen = first_screen(markdown(document))
    assert "note 2" in screen and "note 3" not in screen and "6 more notes are at the end" in screen


def test_the_empty_document_renders() -> None:
    report = markdown(documents.empty())
    assert "No complete step was recorded" in report
    assert "None" not in report and "nan" not in report


@pytest.mark.parametrize("collapsible", [True, False])
def test_only_github_gets_collapsed_sections(collapsible: bool) -> None:
    assert ("<details>" in markdown(documents.sick(), collapsible=collapsible)) is collapsible


def tokens(report: str) -> list[Token]:
    return [inner for token in RENDERER.parse(report) for inner in [token, *(token.children or [])]]


def shape(document: Document) -> list[str]:
    """The report's blocks: headings, tables, rows, cells, paragraphs; what text they hold does not matter."""
    return [token.type for token in RENDERER.parse(markdown(document)) if token.type != "inline"]


def harmless() -> list[str]:
    return shape(documents.hostile("name"))


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_can_change_the_blocks_of_the_report(name: str) -> None:
    assert shape(documents.hostile(name)) == harmless()


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_can_inject_markup(name: str) -> None:
    plain = [token for token in tokens(markdown(documents.hostile("name"))) if token.type != "code_inline"]
    found = tokens(markdown(documents.hostile(name)))
    assert not [token for token in found if token.type in ("image", "s_open", "em_open") and token.type not in {one.type for one in plain}]
    assert sum(token.type == "strong_open" for token in found) == sum(token.type == "strong_open" for token in plain)
    links = [token.attrs["href"] for token in found if token.type == "link_open"]
    assert all(str(link).startswith("https://docs.pytorch.org/") for link in links)
    for token in found:
        if token.type in ("html_inline", "html_block"):
            assert OUR_HTML.fullmatch(token.content), token.content


@pytest.mark.filterwarnings("ignore:html5lib's sanitizer is deprecated:DeprecationWarning")  # TensorBoard's own
@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_tensorboards_own_renderer_sees_the_same_tables(name: str) -> None:
    from tensorboard.plugin_util import markdown_to_safe_html

    def table_shape(given: str) -> list[str]:
        return re.findall(
            r"</?(?:table|tr|th|td|h\d|img|script|a)\b", markdown_to_safe_html(markdown(documents.hostile(given), collapsible=False))
        )

    assert table_shape(name) == table_shape("name")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_nothing_a_terminal_obeys_gets_into_the_report(name: str) -> None:
    report = markdown(documents.hostile(name))
    before_command, _, after_command = report.partition("```sh\n")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\u200b\ud800]", before_command + after_command.partition("```")[2])
    assert max(map(len, report.splitlines())) < 30_000


def test_a_command_with_back_ticks_stays_in_its_fence() -> None:
    document = documents.sick()
    document["run"]["argv"] = ["train.py", "```\n# heading\n```"]
    fences = [token.content for token in RENDERER.parse(markdown(document)) if token.type == "fence"]
    assert fences == ["python -m diagnose train.py '```\n# heading\n```'\n"]
