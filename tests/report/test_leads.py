"""Which spender leads a report: where there is no plan, where its first fix is a detail, or another row."""

from __future__ import annotations

import pytest

from diagnose.document.headline import headline_of
from diagnose.document.leads import is_healthy, leading, leads
from diagnose.document.model import Document, RowAccount, Spender
from diagnose.report.account import looks, names_in

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
    titles = {"compute": "Compute", "host_work": "Host operators", "python": "Python"}
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


def test_small_parts_are_told_as_such() -> None:
    document = unplanned(compute=90, python=10)
    document.account = [RowAccount(row="python", spenders=[spender("zip", 6, 100, 6)])]
    assert not is_healthy(document) and leading(document) is None
    assert headline_of(document) == "90 % of each step is compute; the rest is small parts"


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
