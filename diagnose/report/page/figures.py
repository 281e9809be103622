"""The few numbers below the headline."""

from __future__ import annotations

from diagnose.document import text
from diagnose.document.model import Document
from diagnose.document.queries import step_ms
from diagnose.report import throughput


def figures(document: Document) -> list[tuple[str, str]]:
    """Name and value of each, in their order; what is not known is left out."""
    duration_ms = step_ms(document)
    known = {
        "Step": "" if duration_ms is None else text.ms(duration_ms),
        "Throughput": " · ".join(throughput.told(document)),
        "Device": document.run.device,
        "Complete steps recorded": text.count(document.steps.complete),
    }
    return [(name, value) for name, value in known.items() if value]
