"""What the ranks of a job tell together."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from diagnose.document.model.described import described
from diagnose.measure.job import Pattern


class RankRow(Struct, kw_only=True):
    """One rank of a job. Ranks come in their order."""

    rank: Annotated[int, described("Its number.")]
    source: Annotated[str, described("The folder or file it was read from.")]
    host: Annotated[str, described("The machine it ran on; empty if unknown.")]
    step_ms: Annotated[float | None, described("Its step, ms.")]
    ledger: Annotated[dict[str, float], described("The rows of its own ledger, ms per step.")]
    offset_ms: Annotated[
        float | None,
        described("How far its clock is ahead of the lowest rank's; null if it could not be aligned."),
    ]
    offset_error_ms: Annotated[float | None, described("How far that may be wrong.")]
    lateness_ms: Annotated[
        float | None,
        described("How much later it comes to its collectives than the median rank, ms per step."),
    ]
    held_up_ms: Annotated[float | None, described("What all wait for this rank and no other, ms per step.")]
    last_share: Annotated[
        float | None, described("Of the steps, 0–1: those in which all wait longest for it.")
    ]
    lateness_series_ms: Annotated[list[float], described("lateness_ms of each step, in order.")]
    peak_memory_bytes: Annotated[
        int | None, described("Of its GPU's memory, what tensors filled at the worst moment.")
    ]
    memory_bytes: Annotated[int | None, described("What its GPU has.")]


class Collective(Struct, kw_only=True):
    """The collectives of one kind and process group that were found on all ranks."""

    kind: Annotated[str, described("all_reduce, all_gather, …")]
    lane: Annotated[
        str,
        described(
            "The process group by its name, else the number of the stream that carries the collectives."
        ),
    ]
    count_per_step: Annotated[float, described("How many.")]
    bytes_per_step: Annotated[
        float | None, described("What a rank puts in; null if sizes were not recorded.")
    ]
    ms_per_step: Annotated[float, described("From the arrival of the last rank on.")]
    waiting_ms_per_step: Annotated[float, described("Until then, mean of the ranks.")]
    exposed_ms_per_step: Annotated[
        float | None, described("Of both what no computation hides, mean of the ranks; null without a GPU.")
    ]
    bus_gb_per_s: Annotated[float | None, described("What each link carries meanwhile.")]
    size: Annotated[int | None, described("How many ranks the group has.")]
    best_gb_per_s: Annotated[
        float | None,
        described("The same for the fastest of those of 16 MiB and more; null if there is none."),
    ]
    on_one_host: Annotated[
        bool, described("Whether all ranks of the group were compared, and are on one machine.")
    ]


class PathPart(Struct, kw_only=True):
    """A part of the critical path of a job's step."""

    rank: Annotated[int | None, described("Whose work it is; null for collectives.")]
    name: Annotated[str, described("The row of the ledger, or the kind of collective.")]
    ms: Annotated[float, described("How long, as recorded.")]


class Passage(Struct, kw_only=True):
    """A piece of a rank's time in that step."""

    rank: Annotated[int, described("Whose it is.")]
    what: Annotated[
        Literal["work", "wait", "collective"],
        described("On the way to a collective, waiting in it for the last rank, or in it with all."),
    ]
    name: Annotated[
        str, described("Of work the row of the ledger that takes most of it, else the kind of collective.")
    ]
    start_ms: Annotated[float, described("From the step's beginning.")]
    ms: Annotated[float, described("How long.")]
    on_path: Annotated[bool, described("Whether the step's length hangs on it.")]


class JobStep(Struct, kw_only=True):
    """A step of median length of all ranks, from the last collective of the step before to its own last."""

    number: Annotated[int, described("Its number.")]
    ms: Annotated[float, described("Its length, as recorded.")]
    path: Annotated[
        list[PathPart], described("What its length hangs on, the longest part first; they add up to it.")
    ]
    passages: Annotated[list[Passage], described("What the ranks on the path and some others do.")]


class Ranks(Struct, kw_only=True):
    """The ranks of a job together."""

    world_size: Annotated[int, described("How many the job had.")]
    recorded: Annotated[list[int], described("Those that were read.")]
    missing: Annotated[list[int], described("Those that were not.")]
    duplicates: Annotated[list[int], described("Those given more than once; the first recording counts.")]
    representative: Annotated[int, described("The rank that all the rest of the document is about.")]
    steps: Annotated[int, described("Steps found on all ranks.")]
    matched: Annotated[int, described("Collectives found on all ranks.")]
    unmatched: Annotated[int, described("Collectives of the lowest rank that were not.")]
    pattern: Annotated[
        Pattern,
        described(
            "Who comes last: always the same rank, changing ones, nobody in particular; unknown: too little "
            "was found on all ranks."
        ),
    ]
    late_rank: Annotated[int | None, described("The rank that holds up the others; null if none does.")]
    held_up_ms: Annotated[
        float | None,
        described("What all wait for the last rank, against the one in the middle, ms per step."),
    ]
    cause: Annotated[
        str | None, described("The row of the ledger that takes the late rank longer than the median rank.")
    ]
    cause_ms: Annotated[float | None, described("By how much, ms per step.")]
    causes_ms: Annotated[dict[str, float], described("The same for all rows; negative where it spends less.")]
    gain_ms: Annotated[
        float | None,
        described(
            "What all gain per step if the cause took it as long as the median rank, by a replay of "
            "all ranks."
        ),
    ]
    longest_last_share: Annotated[
        float | None,
        described(
            "Of the steps that some rank holds up, those in which its batch was the longest, 0–1; null if "
            "lengths are unknown."
        ),
    ]
    step: Annotated[
        JobStep | None, described("A median step of all ranks; null if no collectives were found on all.")
    ]
    rows: Annotated[list[RankRow], described("The ranks.")]
    collectives: Annotated[list[Collective], described("Their collectives.")]
    notes: Annotated[list[str], described("What was lost or assumed, in sentences.")]
