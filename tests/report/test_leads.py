"""Which spender leads a report: where there is no plan, where its first fix is a detail, or another row."""

from __future__ import annotations

import re

import pytest

from diagnose.document.headline import headline_of
from diagnose.document.leads import is_healthy, leading, leads
from diagnose.document.model import Document, Line, RowAccount, Spender
from diagnose.document.text import rough_part, short_name
from diagnose.report import sentences
from diagnose.report.account import looks, names_in, table
from diagnose.report.markdown import markdown

from . import documents
from .documents import change, ledger_row


def spender(name: str, ms: float, step_ms: float, headroom_ms: float | None) -> Spender:
    return Spender(
        name=name,
        kind="operator",
        ms_per_step=ms,
        share=ms / step_ms,
        count_per_step=1.0,
        headroom_ms=headroom_ms,
    )


def unplanned(**rows_ms: float) -> Document:
    """A document of a GPU without findings, whose step has these rows."""
    step_ms = sum(rows_ms.values())
    document = documents.healthy()
    titles = {
        "compute": "Compute",
        "host_work": "Host operators",
        "python": "Python",
        "forward": "Forward",
        "backward": "Backward",
        "operators": "Operators",
    }
    ledger = [ledger_row(row, titles[row], "", ms, ms / step_ms) for row, ms in rows_ms.items()]
    change(document, ledger=ledger, findings=[], plan=[], lines=[], badge="", doubt="", account=[])
    document.steps.typical_ms = step_ms
    return document


def test_the_largest_headroom_leads_where_no_rule_fires() -> None:
    """`cat` takes longer, but it could gain less: something else would hold the step up then."""
    document = unplanned(compute=50, host_work=50)
    document.account = [
        RowAccount(row="host_work", spenders=[spender("cat", 30, 100, 8), spender("sort", 20, 100, 19)])
    ]
    assert [lead.name for lead in leads(document)] == ["sort", "cat"]
    document.headline = headline_of(document)
    assert document.headline == "sort takes 20 % of each step (host operators); up to 19 ms to gain"
    first, second = looks(document)
    assert first.startswith(
        "`sort` (Host operators): 20.0 ms, 20 % of the step, up to 19 ms to gain. Find out"
    )
    assert second == "`cat` (Host operators): 30.0 ms, 30 % of the step, up to 8.0 ms to gain."
    assert names_in(document.ledger[1], document) == "`cat` 30 %, `sort` 20 %"


def test_what_may_be_gained_is_not_rounded_up_past_what_it_takes() -> None:
    document = unplanned(compute=40, python=60)
    # 105 ms of which 105.4 would be rounded to 110
    assert rough_part(105.4, 106.0) == "105"
    assert rough_part(94.0, 106.0) == "94"
    long = "/app/xDiT/xfuser/model_executor/models/transformers/attention_of_flux.py:141"
    document.account = [RowAccount(row="compute", spenders=[spender(long, 30, 100, 20)])]
    # of a path the end tells which
    assert names_in(document.ledger[0], document) == "`…s/transformers/attention_of_flux.py:141` 30 %"


def test_the_account_tells_how_much_its_rows_take_and_not_what_else_has_a_name() -> None:
    document = unplanned(compute=50, host_work=30, python=20)
    change(document, named_share=1.0)
    document.account = [
        RowAccount(row="compute", spenders=[spender("gemm", 25, 100, 40), spender("add", 6, 100, 6)]),
        RowAccount(row="python", spenders=[spender("train.py:41", 14, 100, 14)]),
    ]
    shown = table(document)
    assert shown is not None
    assert shown.notes[-1] == "The rows here take 45 % of the step."


def test_a_name_in_several_rows_is_one_lead() -> None:
    document = unplanned(compute=50, host_work=30, python=20)
    document.account = [
        RowAccount(row="host_work", spenders=[spender("cat", 30, 100, 40)]),
        RowAccount(row="python", spenders=[spender("cat", 12, 100, 40)]),
    ]
    (lead,) = leads(document)
    assert (lead.row, lead.share, lead.headroom_ms) == ("host_work", pytest.approx(0.42), 40)


def test_what_a_step_is_for_is_no_lead() -> None:
    document = unplanned(compute=97, python=3)
    document.account = [RowAccount(row="compute", spenders=[spender("mm", 90, 100, 90)])]
    assert leads(document) == [] and is_healthy(document)
    assert headline_of(document) == "97 % of each step is compute, most in mm; nothing worth fixing"


def test_a_line_that_takes_much_of_the_models_own_work_is_said_first() -> None:
    """19 ms of its own and 14 in the backward, of 100; the call of the backward is no line of the model."""
    document = unplanned(backward=52, forward=45, python=3)
    document.lines = [line("train.py", 103, 24.0, is_part=True), line("model.py", 42, 19.0, backward_ms=14.0)]
    assert headline_of(document) == "model.py:42 takes 33 % of each step; no rule knows a fix"
    document.lines[1].backward_ms = 5.0
    assert headline_of(document).startswith("52 % of each step is backward, costliest line model.py:42; ")


def line(file: str, number: int, self_ms: float, *, backward_ms: float = 0.0, is_part: bool = False) -> Line:
    return Line(
        file=file,
        line=number,
        function="f",
        source="",
        self_ms=self_ms,
        total_ms=self_ms,
        backward_ms=backward_ms,
        share=self_ms / 100,
        calls_per_step=1.0,
        is_part=is_part,
    )


def test_a_line_that_takes_much_is_said_where_python_takes_some_too() -> None:
    """Operators outside the model's forward that take longer than it are the model: 21 ms on a line of 100,
    and 10 in its backward; 6 ms of Python could go, in small parts.
    """
    document = unplanned(backward=50, operators=30, forward=14, python=6)
    document.account = [RowAccount(row="python", spenders=[spender("zip", 6, 100, 6)])]
    document.lines = [line("gp.py", 54, 21.0, backward_ms=10.0)]
    assert not is_healthy(document) and leading(document) is None
    assert headline_of(document) == "gp.py:54 takes 31 % of each step; no rule knows a fix"
    document.lines[0].backward_ms = 2.0
    assert headline_of(document) == (
        "50 % of each step is backward, costliest line gp.py:54; the rest is small parts"
    )


def test_small_parts_are_told_as_such() -> None:
    document = unplanned(compute=90, python=10)
    document.account = [RowAccount(row="python", spenders=[spender("zip", 6, 100, 6)])]
    assert not is_healthy(document) and leading(document) is None
    assert headline_of(document) == "90 % of each step is compute; the rest is small parts"


def with_a_costly_line() -> Document:
    """Of 100 ms one line of the model spends 17 of the forward and 29 of the backward."""
    document = unplanned(forward=30, backward=54, python=10, operators=6)
    names = ("model.py:23", "backward of model.py:23")
    line = [spender(name, ms, 100, None) for name, ms in zip(names, (17, 29), strict=True)]
    for one in line:
        change(one, kind="line", mostly="aten::index", file="model.py", line=23)
    document.account = [
        RowAccount(row="forward", spenders=[line[0]]),
        RowAccount(row="backward", spenders=[spender("backward of mm", 20, 100, None), line[1]]),
    ]
    return document


def test_a_line_of_the_model_leads_by_its_forward_and_backward_together() -> None:
    document = with_a_costly_line()
    assert leads(document) == []  # what a step is for is not spare
    assert headline_of(document) == "model.py:23 takes 46 % of each step (mostly aten::index)"
    assert looks(document) == [
        "`model.py:23` (the model's own work, mostly `aten::index`): 46.0 ms, 46 % of the step."
    ]


def test_a_costly_line_is_not_called_nothing_worth_fixing() -> None:
    document = with_a_costly_line()
    for row in document.ledger[2:]:  # nothing is spare
        change(row, ms_per_step=1.0, share=0.01)
    assert is_healthy(document) and leading(document) is None
    assert headline_of(document) == "54 % of each step is backward; no rule knows a fix"


def test_beside_a_small_fix_the_line_of_the_model_leads() -> None:
    """A fix of low severity does not lead, others do; and where a fix is about the line, it says enough."""
    document = with_a_costly_line()
    sick = documents.sick()
    change(document, findings=sick.findings[:1], plan=sick.plan[:1])
    finding = document.findings[0]
    finding.severity = "low"
    assert headline_of(document).startswith("model.py:23 takes 46 % of each step")
    assert "; fix 1 saves " in headline_of(document)
    finding.severity = "medium"
    assert not headline_of(document).startswith("model.py:23")
    change(finding, severity="low")
    change(finding.culprits[0], file="model.py", line=23)
    assert leading(document) is None


def test_a_fix_that_is_about_far_less_does_not_lead() -> None:
    """The plan's first fix is about 33 % of the step; of a lead of four times as much it would be a detail."""
    document = documents.sick()
    share = document.findings[0].share
    assert share is not None
    row = RowAccount(row="python", spenders=[spender("zip", 5, 12.3, 5)])
    document.account = [row]
    document.ledger.append(ledger_row("python", "Python", "", 5, 5 / 12.3))
    assert leading(document) is None
    document.findings[0].share = 0.05
    assert leading(document) is not None


def test_what_a_fix_is_about_is_not_untouched() -> None:
    """Whatever row of the step the rule is about."""
    document = documents.sick()
    row = RowAccount(row="python", spenders=[spender("zip", 5, 12.3, 5)])
    document.account = [row]
    document.ledger.append(ledger_row("python", "Python", "", 5, 5 / 12.3))
    document.findings[0].share = 0.05
    assert leading(document) is not None
    row.spenders[0].rule = document.plan[0].rule
    assert leading(document) is None


def test_the_line_that_the_first_fix_is_about_does_not_lead() -> None:
    """However small the fix takes the line to be: two sentences about one line are one too many."""
    document = documents.sick()
    document.findings[0].share = 0.05
    blamed = document.findings[0].culprits[0]
    line = spender(f"{blamed.file}:{blamed.line}", 5, 12.3, 5)
    line.kind = "line"
    document.account = [RowAccount(row="python", spenders=[line])]
    document.ledger.append(ledger_row("python", "Python", "", 5, 5 / 12.3))
    assert leading(document) is None


def test_a_lead_gains_no_more_than_it_takes() -> None:
    """Without it the step loses work of the GPU too (35 ms): told of 15 ms that would contradict itself, and
    15 of 15 ms would say the same twice.
    """
    document = unplanned(compute=50, host_work=50)
    document.account = [
        RowAccount(row="host_work", spenders=[spender("cat", 15, 100, 35), spender("sort", 10, 100, 4)])
    ]
    assert [lead.headroom_ms for lead in leads(document)] == [15, 4]
    first, second = looks(document)
    assert "15 % of the step. Find out" in first and second.endswith("up to 4.0 ms to gain.")


def test_a_compiled_region_is_not_told_to_leave_the_host() -> None:
    document = unplanned(compute=50, host_work=50)
    graph = "## Call CompiledFxGraph fvbn2lni5maejlcdfevc33wtr46rowqt2ytbgsjf ##"
    document.account = [RowAccount(row="host_work", spenders=[spender(graph, 40, 100, 40)])]
    (look,) = looks(document)
    assert look.startswith("`CompiledFxGraph fvbn2lni` (Host operators)")
    assert "guards, graph breaks" in look and "CPU tensors" not in look


def test_a_name_that_markdown_reads_is_escaped_once() -> None:
    document = unplanned(compute=50, host_work=50)
    document.account = [RowAccount(row="host_work", spenders=[spender("[param|cuda]", 40, 100, 40)])]
    assert "- <code>&#91;param&#124;cuda&#93;</code> (Host operators)" in markdown(document)
    # told beside a plan too, where the plan does not touch it
    beside = documents.sick()
    beside.findings[0].share = 0.01
    change(beside, account=[RowAccount(row="python", spenders=[spender("[param|cuda]", 5, 12.3, 5)])])
    beside.ledger.append(ledger_row("python", "Python", "", 5, 5 / 12.3))
    assert "- <code>&#91;param&#124;cuda&#93;</code> (Python)" in markdown(beside)


def test_where_only_small_parts_could_go_no_list_is_promised() -> None:
    """Two spenders of 2 % each of a step of which 6 % could go."""
    document = unplanned(compute=94, host_work=6)
    document.account = [
        RowAccount(row="host_work", spenders=[spender("cat", 2, 100, 2), spender("sort", 2, 100, 2)])
    ]
    assert looks(document) == [] and not is_healthy(document)
    assert "Look here first" not in markdown(document)
    assert "no part that could go is large. The largest part of the step is compute" in markdown(document)


def test_a_whole_recording_has_no_steps() -> None:
    document = unplanned(compute=50, host_work=50)
    document.account = [RowAccount(row="host_work", spenders=[spender("cat", 40, 100, 20)])]
    change(document.steps, step_source="whole trace")
    document.headline = headline_of(document)
    told = markdown(document)
    assert "40 % of the recording" in told
    assert "what the recording would take less" in told and "| Count |" in " ".join(told.split())
    assert not re.search(r"(?i)count per step|calls per step|each step|of the step", told)


def test_the_floor_is_of_the_work_as_it_is() -> None:
    """A fix of the GPU's own work goes below what no host can shorten: 4 of 6 ms."""
    document = documents.sick()
    document.upper_bound_ms = 6.0
    document.plan[-1].step_ms_after = 7.0
    for row in document.plan:
        row.step_ms_after = 7.0
    assert sentences.fastest(document).endswith("if the CPU side cost nothing.")
    document.plan[-1].step_ms_after = 4.0
    assert sentences.fastest(document).endswith(
        "if the CPU side cost nothing and the GPU did the same as now."
    )


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("## forward ##", "forward"),
        ("backward of ## forward ##", "backward of forward"),
        ("Optimizer.step#Adam.step", "Adam.step"),
        ("#1", "#1"),
        ("aten::mm", "aten::mm"),
    ],
)
def test_names_lose_what_says_nothing(name: str, short: str) -> None:
    assert short_name(name) == short
