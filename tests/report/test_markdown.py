"""report.md says the right things, in the right order, whatever it is given."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from diagnose.document import savings
from diagnose.report import markdown as rendering
from diagnose.report.page import fragment

from . import documents
from .documents import HOSTILE_NAMES, Document, change, changed

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OUR_HTML = re.compile(r"(?:\s|</?(?:details|code)>|<summary><b>[^<>]*</b>: [^<>]*</summary>)*")


def markdown(document: Document, *, collapsible: bool = True) -> str:
    """The report with ordinary spaces."""
    return rendering.markdown(document, collapsible=collapsible).replace("\N{NO-BREAK SPACE}", " ")


def first_screen(report: str) -> str:
    return report[: report.index("## Where a step's time goes")]


def above_the_folds(report: str) -> str:
    return report.partition("<details>")[0]


def folds(report: str) -> dict[str, str]:
    """What each fold holds, by its title."""
    return dict(re.findall(r"<summary><b>(.*?)</b>: .*?</summary>(.*?)</details>", report, re.DOTALL))


def test_the_first_screen_answers_what_where_how_sure_and_what_to_type() -> None:
    screen = first_screen(markdown(documents.sick()))
    assert "Input loading without workers" in screen
    assert "`train.py:41`" in screen
    assert "| 2.9–4.1 ms, 24–33 % | 8.7 ms" in screen  # 2.9 and 4.1 of 12.3 ms
    assert "high confidence, preview rule" in screen
    assert len(screen.splitlines()) < 15
    above = above_the_folds(markdown(documents.sick()))
    assert "Pass `num_workers=2, persistent_workers=True` to the DataLoader." in above
    assert "python -m diagnose train.py --epochs 3" in above


def test_sections_come_in_the_order_a_reader_needs_them() -> None:
    report = markdown(documents.sick())
    wanted = [
        "## What to do",
        "## Where a step's time goes",
        "## Findings",
        "## What to type",
        "<b>1. Load batches in worker processes</b>: evidence, lines to blame, why",
        "<b>Within the noise</b>",
        "<b>Would matter on a GPU</b>",
        "<b>Not judged</b>",
        "<b>Your lines</b>",
        "<b>Operators and kernels</b>",
        "<b>How far to trust these numbers</b>",
        "<b>How this was measured</b>",
    ]
    places = [report.index(title) for title in wanted]
    assert places == sorted(places)


def test_a_finding_shows_evidence_culprits_advice_and_how_sure_we_are() -> None:
    report = markdown(documents.sick())
    block = above_the_folds(report).partition("### 1. Load batches in worker processes – `train.py:41`")[2]
    for part in (
        "This takes about 4.10 ms per step.",
        "**The fix is predicted to save 2.9–4.1 ms a step, 24–33 %; a step then takes 8.7 ms.**",
        "Pass `num_workers=2, persistent_workers=True`",
        "```python\n# train.py:41, now\nfor x, y in loader:\n```",
    ):
        assert part in block
    finding = folds(report)["1. Load batches in worker processes"]
    for part in (
        "33 %",
        "at least 5.0 %",
        "for x, y in loader:",
        "**Why.**",
        "**Caution.**",
        "**Severity.** high",
        "not yet proven",
        "confidence is high: loading as measured.",
        "<https://docs.pytorch.org",
    ):
        assert part in finding


def test_a_stable_measured_finding_says_so() -> None:
    document = documents.sick()
    finding = document.findings[0]
    finding.status = "stable"
    change(finding.saving, measured_ms={"best_guess": 3.3, "low": 3.1, "high": 3.6, "of_ms": 12.0})
    report = markdown(document)
    assert "| 3.1–3.6 ms, 26–30 % |" in report.replace("\N{NO-BREAK SPACE}", " ")
    assert "The fix saves 3.1–3.6 ms a step, 26–30 %, as measured." in report
    assert "measured, proven rule" in report
    assert "stayed quiet on their healthy twins" in report


def test_a_second_fix_is_told_alone_and_with_those_above() -> None:
    report = markdown(documents.two_fixes())
    row = next(line for line in report.splitlines() if line.startswith("| 2 "))
    assert [cell.strip() for cell in row.split("|")[4:7]] == [
        "0 ms until fix 1 is made",
        "6.1 ms",
        "low confidence, preview rule",
    ]
    assert "| Step after fixes 1…n " in report and "| 8.7 ms " in report
    assert (
        "**The fix is predicted to save 0 ms a step until fix 1 is made; together with the fixes above 6.2 ms, and a step "
        "then takes 6.1 ms.**" in report
    )


def test_the_best_guess_is_told_where_the_range_is_wide() -> None:
    document = documents.sick()
    change(
        document.findings[0].saving,
        predicted_ms={"best_guess": 2.0, "low": 0.05, "high": 4.1},
        confidence="low",
    )
    assert "| up to 4.1 ms, 33 %, uncertain; best guess 2.0 ms |" in markdown(document)


def test_what_only_some_steps_have_is_told_as_an_average() -> None:
    report = markdown(documents.some_steps())
    # of 12.3 + 1.2 ms: 6.67 and 11.1 %
    assert "| 0.90–1.5 ms on average, 6.7–11 % | 12.3 ms on average |" in report
    assert (
        "Some steps take longer than the typical 12.3 ms: the average is 13.5 ms, and the savings come off "
        "that." in report
    )


def test_an_upper_bound_is_told_only_where_nothing_is_predicted() -> None:
    document = documents.sick()
    assert "at most 3.90 ms" not in markdown(document)
    change(document.findings[0].saving, predicted_ms=None, confidence=None, reason=None)
    report = markdown(document)
    assert "| at most 3.90 ms, 32 % |" in report and "upper bound, preview rule" in report
    assert "**The fix saves at most 3.90 ms a step, 32 %.**" in report


def test_a_recording_that_is_not_understood_gets_costs_and_the_reason() -> None:
    report = markdown(documents.unpredicted())
    plan = first_screen(report)
    assert "| Costs per step " in plan and "| 4.10 ms, 33 % " in plan  # 4.1 of 12.3
    assert "Savings cannot be predicted here, for replaying the recorded steps misses them by 62 %." in report
    assert not re.search(r"at most \d|predicted to save|upper bound|Step then|Saves", report)


@pytest.mark.parametrize(
    ("limit_ms", "told"),
    [
        # 12.3 / 5.1 = 2.41
        (5.1, "GPU floor: 5.10 ms (2.4× faster than now) if the CPU side cost nothing."),
        # 12.3 / 12.0 = 1.025
        (12.0, "a step takes 12.3 ms, and with everything on the host fixed still 12.0 ms."),
    ],
)
def test_how_far_to_trust_the_numbers_is_told(limit_ms: float, told: str) -> None:
    document = documents.sick()
    document.upper_bound_ms = limit_ms
    report = markdown(document)
    assert told in report
    assert "gives them back within 0.3 %." in report
    assert "The profiler slowed the steps down (1.14 × their plain time)" in report
    document.upper_bound_ms = 0.1  # 123 times
    assert "GPU floor: 0.100 ms if the CPU side cost nothing." in markdown(document)
    change(document, upper_bound_ms=None, self_replay_error=0.0)
    document.steps.distortion = None
    report = markdown(document)
    assert (
        "faster than" not in report
        and "within 0.1 %" in report
        and "No step was timed without the profiler" in report
    )


def test_the_ledger_adds_up_to_the_step_and_starts_with_the_largest_part() -> None:
    report = markdown(documents.sick())
    rows = re.findall(
        r"^\| (Input wait|Backward|Forward|Optimizer|Python|\*\*Step\*\*) .*$", report, re.MULTILINE
    )
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
    document.findings[1].because_of = "a-rule-that-is-not-in-the-plan"
    assert "explained better by: a-rule-that-is-not-in-the-plan" in markdown(document)


def test_what_follows_from_a_finding_hangs_below_it() -> None:
    document = documents.sick()
    cause, consequence = document.findings[:2]
    consequence.because_of = cause.rule
    report = markdown(document)
    assert f"**Other rules found the same time.** {consequence.fix.title}" in report
    assert "Within the noise" not in report


def test_the_call_to_change_is_shown_where_it_is_not_the_line_to_blame() -> None:
    document = documents.sick()
    finding = document.findings[0]
    blamed = {name: getattr(finding.culprits[0], name) for name in ("file", "line", "source")}
    change(
        finding.fix,
        call_sites=[blamed, {"file": "data.py", "line": 7, "source": "loader = DataLoader(data)"}],
    )
    assert "**The call to change.** `data.py:7` `loader = DataLoader(data)`\n" in markdown(document)


def test_a_healthy_run_is_told_so_and_what_bounds_it() -> None:
    report = markdown(documents.healthy())
    assert "Nothing: no fix we know of" in report
    assert "The largest part of the step is compute, 95 % of it" in report
    assert "What bounds the step" in report
    assert "## Findings" not in report
    assert "| `ampere_sgemm_128x64_tn`         |  7.50 ms |    61 % |" in report


def test_a_run_whose_fixes_could_not_be_judged_is_not_called_healthy() -> None:
    document = documents.healthy()
    change(document, badge="crashed", doubt="The script failed with exit code 1.")
    report = markdown(document)
    assert "Fixes could not be judged in this run. The largest part" in report
    assert "no fix we know of" not in report


def test_of_a_recording_without_steps_no_number_is_of_a_step() -> None:
    document = documents.sick()
    change(document.steps, step_source="whole trace")
    for report in (markdown(document), fragment(document)):
        assert "Calls per step" not in report and ">Per step<" not in report and "| Per step" not in report


def test_a_crash_says_what_happened_what_was_recorded_and_what_to_try() -> None:
    report = markdown(documents.crashed())
    assert "failed with exit code 1" in report
    assert "warm-up 1" in report
    assert "Fix the error first" in report
    assert "python -m diagnose train.py" in report
    assert "What to do" not in report


def test_a_run_that_ended_badly_after_complete_steps_still_has_its_plan() -> None:
    document = documents.sick()
    change(document.run, ended="killed", exit_code=None, signal="SIGKILL")
    change(document, badge="killed", doubt="The script was killed by SIGKILL.")
    screen = first_screen(markdown(document))
    assert "> **killed**: The script was killed by SIGKILL." in screen
    assert "Load batches" in screen


def test_numbers_keep_their_units_in_narrow_columns() -> None:
    report = rendering.markdown(documents.sick())
    assert "| 2.9–4.1\N{NO-BREAK SPACE}ms, 24–33\N{NO-BREAK SPACE}% |" in report


def test_doubt_stands_below_the_headline() -> None:
    document = documents.sick()
    change(document, badge="noisy run", doubt="Other programs used 87 % of the CPU. Close them.")
    screen = first_screen(markdown(document))
    assert "> **noisy run**: Other programs used 87 % of the CPU. Close them." in screen
    assert "\n> " not in first_screen(markdown(documents.sick()))


def test_what_was_lost_is_said_with_how_it_was_measured() -> None:
    report = markdown(documents.sick())
    assert "- timeline: 2 events without an end" in folds(report)["How this was measured"]


def test_the_heading_says_what_a_step_gets_done() -> None:
    """64 samples in 12.3 ms are 5,203 a second."""
    document = documents.sick()
    assert "Step: 12.3 ms · device:" in markdown(document)
    change(document.steps, samples_per_step=64.0, samples_per_s=64 / 0.0123)
    change(document.steps, mfu=0.3104, mfu_format="bf16", model_flop=1.19e12)
    report = markdown(document)
    assert "Step: 12.3 ms · 5,200 samples/s · MFU 31 % (bf16) · device:" in report
    assert "needs 1,190 GFLOP a step, 31 % of what the GPU can compute in bf16 meanwhile." in report
    assert "MFU 31\N{NO-BREAK SPACE}% (bf16)" in fragment(document)
    change(document.run, launchers=2)
    assert " · 5,200 samples/s per process · " in markdown(document)


def test_rows_below_a_hundredth_are_one_row_and_all_are_in_a_fold() -> None:
    """4.1 + 3.0 + 3.7 + 1.2 ms, 97.6 %, are rows of their own; 0.1 ms, 0.81 %, and 0.2 ms, 0.4 %, are not."""
    document = documents.sick()
    document.ledger[4:] = [
        documents.ledger_row("python", "Python", "the script's own", 0.1, 0.0081),
        documents.ledger_row("copies", "Copies", "tensors copied", 0.05, 0.0041),
    ]
    report = markdown(document)
    assert re.search(
        r"\| Others +\| +0\.150 ms \| +1\.2 % \| .* \| Python, Copies +\|", above_the_folds(report)
    )
    whole = folds(report)["The whole step"]
    assert "| Python " in whole and "| Copies " in whole and "Others" not in whole
    for table in (above_the_folds(report), whole):
        assert re.search(r"\*\*Step\*\* +\| +12\.2 ms \| +98.8 % ".replace("98.8", "99"), table)


def test_the_patch_of_a_fix_is_shown_where_there_is_one() -> None:
    document = documents.sick()
    rule = document.findings[0].rule
    lines = ["-loader = DataLoader(data)", "+loader = DataLoader(data, num_workers=2)"]
    change(document, patch={"patched": [rule], "unpatched": {}, "lines": {rule: lines}})
    assert f"```diff\n{lines[0]}\n{lines[1]}\n```" in above_the_folds(markdown(document))


def test_long_examples_are_cut_above_the_folds_and_whole_below() -> None:
    document = documents.sick()
    change(document.findings[0].fix, before="a\nb", after="\n".join("uvwxyz"))
    report = markdown(document)
    assert (
        "now\nfor x, y in loader:\n# an example of the fix, in other code\nu\nv\nw\n# …\n"
        in above_the_folds(report)
    )
    assert (
        "# before\na\nb\n\n# after\nu\nv\nw\nx\ny\nz\n"
        in folds(report)["1. Load batches in worker processes"]
    )


def test_a_fix_of_how_the_script_is_started_shows_no_line_to_change() -> None:
    document = documents.sick()
    change(document.findings[0].fix, before="a", after="b", intervention="allocator")
    report = above_the_folds(markdown(document))
    assert "for x, y in loader" not in report and "```python" not in report


def test_findings_for_which_there_is_no_room_are_folded_whole() -> None:
    document = documents.two_fixes()
    second = document.findings[1]
    for number in range(3, 12):
        one = documents.changed(second, rule=f"rule-{number}")
        document.findings.insert(number, one)
        document.plan.append(documents.changed(document.plan[1], rule=one.rule))
    report = markdown(document)
    above = above_the_folds(report)
    assert len(above.splitlines()) <= rendering.VISIBLE_LINES
    assert "### 1. " in above and "### 11. " not in above
    assert "### 11. Use autocast" in report
    assert "### 11. " in markdown(document, collapsible=False).partition("## What to type")[0]


def test_an_alternative_says_what_it_replaces() -> None:
    """And so does what gains more than noise by itself but nothing once the plan is done."""
    document = documents.sick()
    other, spared = (
        documents.finding(
            rule, group=group, title=title, ms_per_step=3.0, at_most_ms=3.0, predicted=(2.0, 1.5, 2.5, "high")
        )
        for rule, group, title in (
            ("slow-item-line", "alternative", "Make the line cheaper"),
            ("fp64", "minor", "Use float"),
        )
    )
    change(other, alternative_to=document.plan[0].rule)
    document.findings += [other, spared]
    report = markdown(document)
    assert "Or instead: make the line cheaper: saves 1.5–2.5 ms a step, 12–20 %." in above_the_folds(report)
    fold = folds(report)["Alternatives"]
    rows = [
        [cell.strip() for cell in row.split("|")[1:3]] for row in fold.splitlines() if row.startswith("| ")
    ]
    assert rows == [["Instead of", "Fix"], ["1", "Make the line cheaper"], ["the plan", "Use float"]]
    assert "Use float" not in folds(report)["Within the noise"]


def test_of_several_alternatives_at_one_line_the_best_is_told() -> None:
    document = documents.sick()
    for rule, title, line, most in (("a", "Do a", 12, 4.0), ("b", "Do b", 12, 3.0), ("c", "Do c", 20, 2.0)):
        culprit = documents.culprit(line, "work()", 1.0, 5.0)
        other = documents.finding(
            rule, group="alternative", title=title, ms_per_step=5.0, at_most_ms=most, culprits=[culprit]
        )
        document.findings.append(changed(other, alternative_to=document.plan[0].rule))
    report = markdown(document)
    told = above_the_folds(report)
    assert "Or instead: do a" in told and "do b" not in told and "Or instead: do c" in told
    assert "Do b" in folds(report)["Alternatives"]


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
    assert not [
        token
        for token in found
        if token.type in ("image", "s_open", "em_open") and token.type not in {one.type for one in plain}
    ]
    assert sum(token.type == "strong_open" for token in found) == sum(
        token.type == "strong_open" for token in plain
    )
    links = [token.attrs["href"] for token in found if token.type == "link_open"]
    assert all(str(link).startswith("https://docs.pytorch.org/") for link in links)
    for token in found:
        if token.type in ("html_inline", "html_block"):
            assert OUR_HTML.fullmatch(token.content), token.content


# TensorBoard's own
@pytest.mark.filterwarnings("ignore:html5lib's sanitizer is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_tensorboards_own_renderer_sees_the_same_tables(name: str) -> None:
    from tensorboard.plugin_util import markdown_to_safe_html

    def table_shape(given: str) -> list[str]:
        return re.findall(
            r"</?(?:table|tr|th|td|h\d|img|script|a)\b",
            markdown_to_safe_html(markdown(documents.hostile(given), collapsible=False)),
        )

    assert table_shape(name) == table_shape("name")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_nothing_a_terminal_obeys_gets_into_the_report(name: str) -> None:
    report = markdown(documents.hostile(name))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\u200b\ud800]", report)
    assert max(map(len, report.splitlines())) < 30_000


def test_a_command_with_back_ticks_stays_in_its_fence() -> None:
    document = documents.sick()
    change(document.run, argv=["train.py", "```\n# heading\n```"])
    fences = [token.content for token in RENDERER.parse(markdown(document)) if token.type == "fence"]
    assert fences[1:] == ["python -m diagnose train.py $'```\\n# heading\\n```'\n"]


def test_all_shares_of_a_plan_are_of_one_step() -> None:
    """2.7 to 5.4 ms of the average step, 13.5 ms, where the row before is about that one."""
    document = documents.some_steps()
    second = documents.sick().findings[0]
    change(second, rule="second")
    change(second.saving, predicted_ms={"best_guess": 4.0, "low": 2.7, "high": 5.4})
    document.findings.append(second)
    document.plan.append(changed(document.plan[0], rule="second", cumulative_ms=5.2, step_ms_after=8.3))
    assert savings.saving(second, document) == "2.7–5.4 ms, 20–40 %"
    document.plan.pop(0)
    document.findings.pop(0)
    assert savings.saving(second, document) == "2.7–5.4 ms, 22–44 %"
