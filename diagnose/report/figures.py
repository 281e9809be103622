"""The few numbers below the headline."""

from __future__ import annotations

from diagnose.document import text
from diagnose.document.model import Document
from diagnose.document.queries import step_ms
from diagnose.document.ranks import median_step_ms
from diagnose.report import throughput


def step(document: Document) -> str:
    """`28.7 ms`, of several ranks `12.5 ms on rank 7 of 8 (median rank: 17.8 ms)`; empty if unknown."""
    duration_ms, ranks = step_ms(document), document.ranks
    if duration_ms is None:
        return ""
    if not ranks or ranks.world_size < 2:
        return text.ms(duration_ms)
    median = f" (median rank: {text.ms(median_step_ms(ranks))})" if len(ranks.rows) > 1 else ""
    return f"{text.ms(duration_ms)} on rank {ranks.representative} of {ranks.world_size:,}{median}"


def figures(document: Document) -> list[tuple[str, str]]:
    """Name and value of each, in their order; what is not known is left out."""
    known = {
        "Step": step(document),
        "Throughput": " · ".join(throughput.told(document)),
        "Device": document.run.device,
        "Complete steps recorded": text.count(document.steps.complete),
    }
    return [(name, value) for name, value in known.items() if value]
