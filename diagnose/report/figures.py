"""The few numbers below the headline."""

from __future__ import annotations

from diagnose.document import savings, text
from diagnose.document.model import Document
from diagnose.document.queries import is_whole_trace, step_ms, whole_word
from diagnose.document.ranks import median_step_ms
from diagnose.report import throughput


def step(document: Document) -> str:
    """`28.7 ms`, of several ranks `12.5 ms on rank 7 of 8 (median rank: 17.8 ms)`, where fixes of some steps
    are planned `9.28 ms (14.6 ms on average)`; empty if unknown.
    """
    duration_ms, ranks = step_ms(document), document.ranks
    if duration_ms is None:
        return ""
    of, others = "", []
    if ranks and ranks.world_size > 1:
        of = f" on rank {ranks.representative} of {ranks.world_size:,}"
        others += [f"median rank: {text.ms(median_step_ms(ranks))}"] if len(ranks.rows) > 1 else []
    if savings.has_average(document):
        others.append(f"{text.ms(savings.average_ms(document))} on average")
    told = f" ({', '.join(others)})" if others else ""
    return f"{text.ms(duration_ms)}{of}{told}"


def recorded(document: Document) -> str:
    """`8 complete steps`, or that nothing marks the steps."""
    complete = document.steps.complete
    if is_whole_trace(document) and complete:
        return "the whole trace, as one step"
    return f"{text.count(complete)} complete step{'' if complete == 1 else 's'}"


def figures(document: Document) -> list[tuple[str, str]]:
    """Name and value of each, in their order; what is not known is left out."""
    known = {
        whole_word(document): step(document),
        "Throughput": " · ".join(throughput.told(document)),
        "Device": document.run.device,
        "Recorded": recorded(document),
    }
    return [(name, value) for name, value in known.items() if value]
