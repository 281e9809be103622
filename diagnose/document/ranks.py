"""What all ranks of a job did, as the result document's key `ranks`, and what its headline says of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diagnose.document.model import Collective, Document, JobStep, RankRow, Ranks
from diagnose.document.stored import part
from diagnose.document.text import ms

if TYPE_CHECKING:
    from diagnose.measure.job import Job, RankState

TOLD_SHARE = 0.05  # of the step, from which waiting is worth a word in the headline: the rules' own threshold


def ranks_document(job: Job | None) -> Ranks | None:
    """The result document's key `ranks`; None for one rank."""
    if job is None:
        return None
    return Ranks(
        world_size=job.world_size,
        recorded=[state.rank for state in job.ranks],
        missing=list(job.missing),
        duplicates=list(job.duplicates),
        representative=job.representative,
        steps=job.step_count,
        matched=job.matched,
        unmatched=job.unmatched,
        pattern=job.pattern,
        late_rank=job.late_rank,
        held_up_ms=_known(job.held_up_ms),
        cause=job.cause,
        cause_ms=job.cause_ms,
        causes_ms=dict(job.causes_ms),
        gain_ms=job.gain_ms,
        longest_last_share=job.longest_last_share,
        step=part(job.step, JobStep) if job.step else None,
        rows=[_row(state) for state in job.ranks],
        collectives=part(job.collectives, list[Collective]),
        notes=list(job.notes),
    )


def _row(state: RankState) -> RankRow:
    return RankRow(
        rank=state.rank,
        source=state.source,
        host=state.host,
        step_ms=_known(state.step_ms),
        ledger=dict(state.rows_ms),
        offset_ms=_known(state.offset_ms),
        offset_error_ms=_known(state.offset_error_ms),
        lateness_ms=_known(state.lateness_ms),
        held_up_ms=_known(state.held_up_ms),
        last_share=_known(state.last_share),
        lateness_series_ms=list(state.lateness_series_ms),
        peak_memory_bytes=state.peak_memory_bytes,
        memory_bytes=state.memory_bytes,
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def ranks_headline(document: Document) -> str:
    """Which rank holds up the others; empty where none does, or by less than is worth a word
    or than the noise.
    """
    ranks = document.ranks
    if not ranks or ranks.pattern != "persistent":
        return ""
    waiting_ms = waited_ms(ranks)
    if waiting_ms < max(TOLD_SHARE * (median_step_ms(ranks) or math.inf), document.steps.noise_ms or 0.0):
        return ""
    others = "the other" if ranks.world_size == 2 else "the others"
    return f"{ranks.world_size:,} ranks; rank {ranks.late_rank} holds {others} up by {ms(waiting_ms)}"


def waited_ms(ranks: Ranks) -> float:
    """What all wait in a step: for the late rank alone, or for whichever comes last."""
    late = ranks.late_rank
    return (ranks.held_up_ms if late is None else row_of(ranks, late).held_up_ms) or 0.0


def median_step_ms(ranks: Ranks) -> float | None:
    """The median rank's step."""
    steps = sorted(row.step_ms for row in ranks.rows if row.step_ms is not None)
    return steps[len(steps) // 2] if steps else None


def row_of(ranks: Ranks, rank: int) -> RankRow:
    return next(row for row in ranks.rows if row.rank == rank)
