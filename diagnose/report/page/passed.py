"""The rules that found nothing, by the part of the step that they look at."""

from __future__ import annotations

from diagnose.document.model import Document
from diagnose.document.queries import in_state
from diagnose.measure.ledger import TITLES

ELSEWHERE = "The step as a whole"  # of rules that cut across the parts


def passed(document: Document) -> dict[str, list[str]]:
    """What was looked for and not found, in a few words each; parts in the ledger's order."""
    refines = {finding.rule: finding.refines for finding in document.findings}
    names: dict[str, list[str]] = {}
    for finding in in_state(document, "quiet"):
        names.setdefault(_part(finding.rule, refines), []).append(finding.cause or finding.rule)
    return {title: sorted(names[title]) for title in [*_titles(), ELSEWHERE] if title in names}


def _part(rule: str, refines: dict[str, str | None]) -> str:
    """The title of the part that the rule, or the more general one above it, explains."""
    seen, above = {rule}, refines[rule]
    while above in refines and above not in seen:
        seen.add(above)
        above = refines[above]
    return TITLES[above][0] if above in TITLES else ELSEWHERE


def _titles() -> list[str]:
    return [title for title, _ in TITLES.values()]
