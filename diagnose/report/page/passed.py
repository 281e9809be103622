"""The rules that found nothing, by the part of the step that they look at."""

from __future__ import annotations

from diagnose.document.model import Document
from diagnose.document.queries import in_state

WHOLE_STEP = "The step as a whole"  # for rules that cut across its parts


def passed(document: Document) -> dict[str, list[str]]:
    """What was looked for and not found, in a few words each.

    First the parts that this step has, as in its ledger, then others, then the whole.
    """
    titles = {part.row: part.title for part in document.ledger}
    refines = {finding.rule: finding.refines for finding in document.findings}
    names: dict[str, list[str]] = {}
    for finding in in_state(document, "quiet"):
        row = _row(finding.rule, refines)
        title = WHOLE_STEP if row == "step" else titles.get(row, row.replace("_", " ").capitalize())
        names.setdefault(title, []).append(finding.cause or finding.rule)
    order = [*titles.values(), *sorted(names.keys() - {WHOLE_STEP}), WHOLE_STEP]
    return {title: sorted(names[title]) for title in dict.fromkeys(order) if title in names}


def _row(rule: str, refines: dict[str, str | None]) -> str:
    """The row of the ledger that the rule, or the more general ones above it, explain; else `step`."""
    seen: set[str] = set()
    while rule in refines and rule not in seen:
        seen.add(rule)
        rule = refines[rule] or "step"
    return rule
