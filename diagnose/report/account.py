"""The account, as texts that every report can show."""

from __future__ import annotations

import re

from diagnose.document.leads import HEALTHY, MODEL_ROWS, Lead, is_healthy, leading, leads, line_of_model
from diagnose.document.model import Document, LedgerRow, SeldomWork, Spender
from diagnose.document.queries import counted, the_step, warming_up
from diagnose.document.text import (
    SELDOM,
    count,
    end_of,
    ms,
    quoted,
    quoted_place,
    rough_part,
    share,
    short_name,
)
from diagnose.report.operators import Table
from diagnose.trace.cleaning import LONGEST

HEADING = "Who spends it"
TOP_LEADS = 3
NO_FIX = "No rule knows a fix for this. Look here first:"
UNTOUCHED = "These fixes do not touch what takes most. Look here as well:"
OWN_WORK = "the model's own work"
TOP_NAMES = 2
LONGEST_NAME, LONGEST_IN_ROW = 60, 40  # characters
NEARLY_ALL = 0.95  # of a lead's time: that so much may be gained says nothing new
_ONCE = ("first_calls", "compilation")  # rows of what later steps do not have
_NOTE = (
    "At most to gain is what {whole} would take less if this, in all its parts, took no time at all, by "
    "replay. It says where to look; no fix gains all of it."
)
_SHOWN = "The rows here take {share} of {whole}."


def names_in(row: LedgerRow, document: Document) -> str:
    """The largest spenders of a row, `aten::cat 11 %, aten::add 3.2 %`; empty where it has no account."""
    found = next((one.spenders for one in document.account if one.row == row.row), [])
    return ", ".join(f"{_name(one.name, LONGEST_IN_ROW)} {share(one.share)}" for one in found[:TOP_NAMES])


def table(document: Document) -> Table | None:
    """All rows that have an account; None where none has one."""
    titles = {row.row: row.title for row in document.ledger}
    shares = {row.row: row.share for row in document.ledger}
    rows = [
        (_called(spender), titles[account.row], *_numbers(spender))
        for account in sorted(document.account, key=lambda one: -shares[one.row])
        for spender in account.spenders
    ]
    columns = ("Who", "Part", "Time", "Share", counted("Count", document), "At most to gain")
    whole = the_step(document)
    notes = [_NOTE.format(whole=whole)]
    shown = sum(spender.share for account in document.account for spender in account.spenders)
    notes.append(_SHOWN.format(share=share(shown), whole=whole))
    return Table("", columns, rows, tuple(notes)) if rows else None


def looks(document: Document) -> list[str]:
    """Where to look first, a sentence or two each: with an empty plan, or what it does not touch and leads
    the report; empty where all is well.
    """
    first = next(iter(document.plan), None)
    least = (first.share or 0.0) if first else 0.0
    between = [_look_between(work) for work in document.seldom if work.share > least]
    return [*between, *_looks_in_step(document)]


def _look_between(work: SeldomWork) -> str:
    """At what only some steps do."""
    mostly = f", mostly {quoted(work.mostly)}" if work.mostly else ""
    takes = f"{ms(work.ms_per_step)} of the average step, {share(work.share)}"
    return (
        f"{quoted_place(work)} ({SELDOM[work.kind]}{mostly}): {takes}. It comes after every "
        f"{count(work.every)} steps; a step of this report is without it."
    )


def _looks_in_step(document: Document) -> list[str]:
    if is_healthy(document) and not document.plan:
        return []
    if document.plan:
        lead = leading(document)
        return [_look(lead, document, advice=True)] if lead else []
    worth = [lead for lead in leads(document) if lead.share >= HEALTHY / 2][:TOP_LEADS]
    if (line := line_of_model(document)) is not None:
        worth = sorted([line, *worth], key=lambda lead: -lead.share)[:TOP_LEADS]
    first_of_row = {lead.row: lead for lead in reversed(worth)}
    return [_look(lead, document, advice=first_of_row[lead.row] is lead) for lead in worth]


def introduced(document: Document) -> str:
    """What stands before them."""
    return UNTOUCHED if document.plan else NO_FIX


def _look(lead: Lead, document: Document, *, advice: bool) -> str:
    title = next(row.title for row in document.ledger if row.row == lead.row)
    if lead.row in MODEL_ROWS:
        title = OWN_WORK
    mostly = f", mostly {_name(lead.mostly)}" if lead.mostly else ""
    gain_ms = lead.headroom_ms or 0.0
    known = HEALTHY * lead.ms <= gain_ms <= NEARLY_ALL * lead.ms
    gains = f", up to {rough_part(gain_ms, lead.ms)} ms to gain" if known else ""
    said_above = lead.row in _ONCE and warming_up(document) is not None
    todo = f" {lead.look[:1].upper()}{lead.look[1:]}." if advice and lead.look and not said_above else ""
    takes = f"{ms(lead.ms)}, {share(lead.share)} of {the_step(document)}"
    return f"{_name(lead.name)} ({title}{mostly}): {takes}{gains}.{todo}"


def _called(spender: Spender) -> str:
    name = short_name(spender.name)
    return f"{name}, mostly {short_name(spender.mostly)}" if spender.mostly else name


def _numbers(spender: Spender) -> tuple[str, ...]:
    return (
        ms(spender.ms_per_step),
        share(spender.share),
        count(spender.count_per_step),
        ms(spender.headroom_ms),
    )


def _name(name: str, longest: int = LONGEST_NAME) -> str:
    """A path and its line are cut at the front."""
    plain = short_name(name, LONGEST)
    return quoted(end_of(plain, longest) if re.search(r"/[^ /]*:\d+$", plain) else plain, longest)
