"""Ranks of one job: who comes last to the collectives, and what it does instead.

The recording is that of the job's representative rank.
"""

from __future__ import annotations

from diagnose.measure.areas.own_lines import python_line
from diagnose.measure.job import Job
from diagnose.measure.ledger import TITLES
from diagnose.measure.lines import line_costs
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import ONE_RANK, Missing, Unknown, known

TOO_LITTLE = Missing("too few steps were recorded on all ranks to find a late rank", "--steps")
NO_LATE_RANK = Missing("no rank is last again and again")
NO_CAUSE = Missing("no part of the step takes longer on the late rank than on the others")
MOSTLY = 2 / 3  # of the steps, as for a rank that is called late
# causes that are not the host's work, as all others are
KINDS = {"input_wait": "input", "compute": "kernels", "queued": "queued"}


def _job(measured: Measured) -> Job:
    """The job, whose ranks met often enough to tell who is late; raises Unknown."""
    if measured.job is None:
        raise Unknown(ONE_RANK)
    if measured.job.pattern == "unknown":
        raise Unknown(TOO_LITTLE)
    return measured.job


@metric(
    "late_pattern",
    "",
    "Which rank is last at collectives: always one (`persistent`), changing ones (`rotating`), or"
    " no late rank (`none`)",
)
def _late_pattern(measured: Measured) -> Value | Missing:
    return _job(measured).pattern


@metric("recorded_rank_count", "count", "Number of ranks of the job that were recorded and read together")
def _recorded_rank_count(measured: Measured) -> Value | Missing:
    return len(measured.job.ranks) if measured.job else 1


@metric(
    "held_up_ms", "ms", "Time per step that the ranks wait for the late rank, or for whichever rank is last"
)
def _held_up_ms(measured: Measured) -> Value | Missing:
    job = _job(measured)
    return job.held_up_ms if job.late_rank is None else job.state(job.late_rank).held_up_ms


@metric("held_up_share", "share", "Share of the step that the ranks spend in this wait")
def _held_up_share(measured: Measured) -> Value | Missing:
    return measured.needed("held_up_ms") / measured.number("step_ms")


@metric(
    "late_kind",
    "",
    "What makes the rank late: its `input`, longer `kernels`, work left `queued`, or work of the `host`",
)
def _late_kind(measured: Measured) -> Value | Missing:
    job = _job(measured)
    if job.late_rank is None:
        return "none"
    return NO_CAUSE if job.cause is None else KINDS.get(job.cause, "host")


@metric(
    "last_rank_batch",
    "",
    "Batch of the last rank: mostly the `longest` of all, of `any` length, or `unknown`",
)
def _last_rank_batch(measured: Measured) -> Value | Missing:
    longest_share = _job(measured).longest_last_share
    return "unknown" if longest_share is None else "longest" if longest_share >= MOSTLY else "any"


@metric("late_part_title", "", "Part of the step that takes longer on the late rank than on the others")
def _late_part_title(measured: Measured) -> Value | Missing:
    return TITLES[known(_cause(measured))][0]


@metric("late_rank", "", "Rank that the others wait for")
def _late_rank(measured: Measured) -> Value | Missing:
    rank = _job(measured).late_rank
    return NO_LATE_RANK if rank is None else str(rank)


@metric(
    "late_gain_ms",
    "ms",
    "Time per step that all ranks gain if this part took the late rank no longer than the others (by replay)",
)
def _late_gain_ms(measured: Measured) -> Value | Missing:
    job = _job(measured)
    if job.late_rank is None or job.gain_ms is None:
        return NO_LATE_RANK if job.late_rank is None else NO_CAUSE
    return job.gain_ms


@metric("late_part_left", "share", "Share of this part that is then left on the late rank")
def _late_part_left(measured: Measured) -> Value | Missing:
    part_ms = measured.row_ms(known(_cause(measured)))
    return max(0.0, 1 - measured.needed("late_gain_ms") / part_ms) if part_ms > 0 else NO_CAUSE


def _cause(measured: Measured) -> str | Missing:
    job = _job(measured)
    return NO_LATE_RANK if job.late_rank is None else NO_CAUSE if job.cause is None else job.cause


@fact_selector("late_part", "the part of the step that takes longer on the late rank than on the others")
def _late_part_place(measured: Measured) -> list[FactPlace] | Missing:
    """Kernels have no line of their own; of Python it is the one that takes most of
    it, else the costliest line of all.
    """
    cause = known(_cause(measured))
    part_ms = measured.row_ms(cause)
    if KINDS.get(cause) == "kernels":
        return [FactPlace("", -1, "", 1.0, part_ms)]
    if cause == "python" and (line := python_line(measured)):
        return [FactPlace(line.file, line.line, line.function, line.count_per_step, part_ms)]
    costliest = next(iter(line_costs(measured)), None)
    if costliest is None:
        return [FactPlace("", -1, "", 1.0, part_ms)]
    return [FactPlace(costliest.file, costliest.line, costliest.function, costliest.calls_per_step, part_ms)]


@fact_selector("waiting_for_ranks", "waiting for the last rank")
def _waiting_for_ranks(measured: Measured) -> list[FactPlace] | Missing:
    return [FactPlace("", -1, "", 1.0, measured.needed("held_up_ms"))]
