"""What must be in a report, however short it is above its folds."""

from __future__ import annotations

from diagnose.document.model import Document
from diagnose.document.queries import is_complete
from diagnose.document.text import code, place, prose
from diagnose.report.markdown import TOP_LINES, markdown


def assert_whole(document: Document) -> None:
    """Nothing is lost in the folds."""
    report = markdown(document)
    fired = [finding for finding in document.findings if finding.state == "fires"]
    spots = [
        *(culprit for finding in fired if finding.group == "plan" for culprit in finding.culprits),
        *document.lines[:TOP_LINES],
    ]
    wanted = [
        *(prose(finding.fix.title) for finding in fired),
        *(f"diagnose rules {row.rule}" for row in document.plan),
        *(prose(row.meaning) for row in document.ledger),
        *(code(place(spot)) for spot in spots),
        *(prose(note.text) for note in document.notes),
        # without a whole step all of them lack the same
        *(code(one.rule) for one in document.findings if one.state == "abstains" and is_complete(document)),
    ]
    assert [text for text in wanted if text not in report] == []
