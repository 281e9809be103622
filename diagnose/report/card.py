"""A result as a small piece of HTML, for the output of a notebook's cell: it takes the notebook's
colours and needs nothing beside it.
"""

from __future__ import annotations

import os
from urllib.parse import quote

from diagnose.document import savings, text
from diagnose.document.model import Document
from diagnose.document.queries import is_complete, planned
from diagnose.report import account, sentences
from diagnose.report.templates import environment

_ROWS_AT_MOST = 6  # of the plan and of the ledger; the report has all
_NEGLIGIBLE = 0.005  # of the step

_BARE = "border: 0; padding: .1em .6em .1em 0; text-align: left; background: transparent; color: inherit"
_LINE = "background: transparent"  # notebooks stripe tables
_CELL = (
    "border: 0; border-bottom: 1px solid rgba(128, 128, 128, .35); padding: .25em .9em .25em 0; text-align: "
    "left; vertical-align: top; background: transparent; color: inherit"
)


def finished_card(document: Document, report: str) -> str:
    """The verdict, the plan, where a step's time goes, and a link to the
    report at the relative path ``report``.
    """
    notes = (
        sentences.set_out(document)
        if is_complete(document)
        else [sentences.happened(document), *sentences.remedies(document)]
    )
    if is_complete(document) and not document.plan:
        notes = [*notes, sentences.nothing_to_do(document), *account.looks(document)]
    return _rendered(
        headline=document.headline,
        badge=document.badge,
        doubt=document.doubt,
        notes=notes,
        saves=savings.saves_title(document),
        plan=_plan(document),
        ledger=_ledger(document),
        link=quote(os.fsencode(report)),
        shown_link=text.clean(report),
    )


def plain_card(sentence: str) -> str:
    """Only a sentence."""
    return _rendered(notes=[f"diagnose: {sentence}"])


def _plan(document: Document) -> list[list[str]]:
    rows = []
    for number, finding in enumerate(planned(document)[:_ROWS_AT_MOST], 1):
        rows.append(
            [
                f"{number}",
                finding.fix.title,
                sentences.where(finding) or text.UNKNOWN,
                savings.saving(finding, document),
                savings.sureness(finding, document),
            ]
        )
    return rows


def _ledger(document: Document) -> list[tuple[str, str, str, str, str]]:
    """The largest rows: title, width of the bar in percent, ms, share, who spends most of it."""
    rows = sorted(document.ledger, key=lambda row: row.share, reverse=True)
    shown = [row for row in rows[:_ROWS_AT_MOST] if row.share >= _NEGLIGIBLE]
    return [
        (
            text.clean(row.title),
            f"{100 * row.share:.1f}",
            text.ms(row.ms_per_step),
            text.share(row.share),
            account.names_in(row, document),
        )
        for row in shown
    ]


def _rendered(**values: object) -> str:
    given = {
        "headline": "",
        "badge": "",
        "doubt": "",
        "notes": [],
        "saves": "",
        "plan": [],
        "ledger": [],
        "link": "",
        "shown_link": "",
    } | values
    return environment().get_template("card.html").render(line=_LINE, bare=_BARE, cell=_CELL, **given)
