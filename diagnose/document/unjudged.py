"""What a run without a plan says nothing of, so that it is not called healthy."""

from __future__ import annotations

from diagnose.document.model import NOISY_RUN, Document
from diagnose.document.queries import in_group


def unjudged(document: Document) -> str:
    """What could not be judged where nothing is planned; empty if all was."""
    if document.badge not in ("", NOISY_RUN):
        return "fixes could not be judged"
    if document.badge or in_group(document, "minor"):
        return ""
    lacks_detail = document.steps.phases and not document.steps.phases.get("detail")
    return "your lines could not be judged" if lacks_detail else ""  # calls and stacks are of that phase
