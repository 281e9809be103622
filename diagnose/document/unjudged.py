"""What a run without a plan says nothing of, so that it is not called healthy."""

from __future__ import annotations

from diagnose.document.model import NOISY_RUN, Document
from diagnose.document.queries import in_group


def unjudged(document: Document) -> str:
    """What could not be judged where nothing is planned; empty if all was."""
    if document.badge == NOISY_RUN or in_group(document, "minor"):
        return ""
    if document.badge:
        return "fixes could not be judged"
    lacks_detail = document.steps.phases and not document.steps.phases.get("detail")
    return "your lines could not be judged" if lacks_detail else ""  # calls and stacks are of that phase
