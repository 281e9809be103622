"""What all ranks of a job did, as the result document's key `ranks`, and what its headline says of them."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from diagnose.document.queries import Document
from diagnose.document.text import ms

if TYPE_CHECKING:
    from diagnose.measure.job import Job

TOLD_SHARE = 0.05  # of the step, from which waiting is worth a word in the headline: the rules' own threshold


def ranks_document(job: Job | None) -> dict[str, Any] | None:
    """The result document's key `ranks`; None for one rank."""
    if job is None:
        return None
    return {
        "world_size": job.world_size,
        "recorded": [state.rank for state in job.ranks],
        "missing": list(job.missing),
        "duplicates": list(job.duplicates),
        "representative": job.representative,
        "steps": job.step_count,
        "matched": job.matched,
        "unmatched": job.unmatched,
        "pattern": job.pattern,
        "late_rank": job.late_rank,
        "held_up_ms": _known(job.held_up_ms),
        "cause": job.cause,
        "cause_ms": job.cause_ms,
        "causes_ms": dict(job.causes_ms),
        "gain_ms": job.gain_ms,
        "longest_last_share": job.longest_last_share,
        "step": asdict(job.step) if job.step is not None else None,
        "rows": [
            {
                "rank": state.rank,
                "source": state.source,
                "host": state.host,
                "step_ms": _known(state.step_ms),
                "ledger": dict(state.rows_ms),
                "offset_ms": _known(state.offset_ms),
                "offset_error_ms": _known(state.offset_error_ms),
                "lateness_ms": _known(state.lateness_ms),
                "held_up_ms": _known(state.held_up_ms),
                "last_share": _known(state.last_share),
                "lateness_series_ms": list(state.lateness_series_ms),
                "peak_memory_bytes": state.peak_memory_bytes,
                "memory_bytes": state.memory_bytes,
            }
            for state in job.ranks
        ],
        "collectives": [
            {
                "kind": one.kind,
                "lane": one.lane,
                "count_per_step": one.count_per_step,
                "bytes_per_step": one.bytes_per_step,
                "ms_per_step": one.ms_per_step,
                "waiting_ms_per_step": one.waiting_ms_per_step,
                "exposed_ms_per_step": one.exposed_ms_per_step,
                "bus_gb_per_s": one.bus_gb_per_s,
                "size": one.size,
                "best_gb_per_s": one.best_gb_per_s,
                "on_one_host": one.on_one_host,
            }
            for one in job.collectives
        ],
        "notes": list(job.notes),
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def ranks_headline(document: Document) -> str:
    """Which rank holds up the others, for the verdict; empty where none does, or by less
    than is worth a word or than the noise.
    """
    ranks = document.get("ranks")
    if not ranks or ranks["pattern"] != "persistent":
        return ""
    waiting_ms = waited_ms(ranks)
    if waiting_ms < max(
        TOLD_SHARE * (median_step_ms(ranks) or math.inf), document["steps"].get("noise_ms") or 0.0
    ):
        return ""
    others = [row["rank"] for row in ranks["rows"] if row["rank"] != ranks["late_rank"]]
    whom = f"rank {others[0]}" if len(others) == 1 else f"the other {len(others)} ranks"
    return f"Rank {ranks['late_rank']} holds up {whom} by {ms(waiting_ms)} a step"


def waited_ms(ranks: dict[str, Any]) -> float:
    """What all wait in a step: for the late rank alone, or for whichever comes last."""
    late = ranks["late_rank"]
    return (ranks["held_up_ms"] if late is None else row_of(ranks, late)["held_up_ms"]) or 0.0


def median_step_ms(ranks: dict[str, Any]) -> float | None:
    """The median rank's step."""
    steps = sorted(row["step_ms"] for row in ranks["rows"] if row["step_ms"] is not None)
    return steps[len(steps) // 2] if steps else None


def row_of(ranks: dict[str, Any], rank: int) -> dict[str, Any]:
    return next(row for row in ranks["rows"] if row["rank"] == rank)
