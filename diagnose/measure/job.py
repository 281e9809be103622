"""What all recorded ranks of one job tell together. Plain data: `diagnose.ranks.job`
computes it, metrics and rules ask it.

Times are ms. A collective is matched if it was found on every recorded rank whose recording fits the others';
only those count in which everybody waits for everybody. Waiting is as recorded, under the profiler; `step_ms`
and `rows_ms` are of the plain step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Pattern = Literal["persistent", "rotating", "none", "unknown"]  # of late ranks


@dataclass(frozen=True)
class RankState:
    """One rank. ``lateness_series_ms``: a number a matched step, of which ``lateness_ms`` is the mean."""

    rank: int
    source: str
    host: str  # empty if unknown
    step_ms: float
    rows_ms: dict[str, float]  # rows of its ledger
    offset_ms: float  # how far its clock is ahead of the lowest rank's; nan if it could not be aligned
    offset_error_ms: float  # how far the ends of its collectives scatter about that; nan likewise
    # a step: how much later it comes to collectives than the median of the others, early arrivals not counted
    lateness_ms: float
    # a step: what all wait for this rank alone, where it comes last, until it
    # comes from when the last but one came
    held_up_ms: float
    last_share: float  # of the steps: it is the rank that all wait for longest
    lateness_series_ms: tuple[float, ...] = ()
    # of the GPU, that tensors filled at the worst moment; None if unknown
    peak_memory_bytes: int | None = None
    memory_bytes: int | None = None  # that the GPU has; None if unknown


@dataclass(frozen=True)
class CollectiveKind:
    """All matched collectives of one kind and process group, or of all groups of one
    name, of which it then is the mean.

    ``lane``: the group as people call it; where the trace does not tell, the
    how-manyth stream that carries collectives.
    """

    kind: str
    lane: str
    count_per_step: float
    bytes_per_step: float | None  # what a rank puts in; None if sizes were not recorded
    ms_per_step: float  # from the arrival of the last rank on
    waiting_ms_per_step: float  # before, mean of the ranks
    bus_gb_per_s: float | None  # None too where nothing tells how many ranks take part
    size: int | None = None  # how many ranks take part, likewise
    best_gb_per_s: float | None = None  # bus bandwidth of the fastest one of `LARGE_BYTES` and more
    on_one_host: bool = False  # all its ranks are compared, and on one machine
    # of both what no computation hides, mean of the ranks; None where the GPU carries none
    exposed_ms_per_step: float | None = None


@dataclass(frozen=True)
class Passage:
    """A piece of one rank's time in a step, ms from the step's beginning.

    ``what``: work (on the way to a collective; ``name`` is then the row of the ledger that
    takes most of it), wait (in a collective, for the last rank) or collective (from when the
    last has come; ``name`` is then its kind).
    """

    rank: int
    what: str
    name: str
    start_ms: float
    ms: float
    on_path: bool


@dataclass(frozen=True)
class PathPart:
    """A part of the critical path: a rank's work by row of the ledger, or all
    collectives of a kind (``rank`` is None).
    """

    rank: int | None
    name: str
    ms: float


@dataclass(frozen=True)
class JobStep:
    """One step of all ranks, of median length: from the last collective of the step before to its own last.

    ``path``: what its length hangs on, adding up to ``ms``, the longest first. ``passages``: of
    the ranks on the path and some others.
    """

    number: int
    ms: float
    path: tuple[PathPart, ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Job:
    """``pattern`` of late ranks: persistent, rotating, none, or unknown (nothing
    matched, or too few steps to tell).
    """

    world_size: int
    ranks: tuple[RankState, ...]
    missing: tuple[int, ...]
    duplicates: tuple[int, ...]  # ranks that were given more than once
    step_count: int
    matched: int
    unmatched: int  # collectives of the lowest rank that were not found on all others
    collectives: tuple[CollectiveKind, ...]
    late_rank: int | None
    pattern: Pattern
    # a step: all wait for whoever comes last, from when the median rank came; nan if nothing matched
    held_up_ms: float
    # the row of the ledger in which the late rank spends more, on its way to collectives, than the median
    # rank
    cause: str | None
    cause_ms: float | None
    causes_ms: dict[str, float]  # the same for all rows, negative where it spends less
    notes: tuple[str, ...] = ()
    gain_ms: float | None = (
        # what all gain per step if the cause took the late rank as long as the others: a replay of all ranks
        None
    )
    step: JobStep | None = None
    # of the steps that some rank holds up: its batch was the longest; None if lengths are unknown
    longest_last_share: float | None = None

    @property
    def representative(self) -> int:
        """The rank whose report stands for the job: the late one, else the
        lowest with a step in its recording.
        """
        with_steps = [state.rank for state in self.ranks if not math.isnan(state.step_ms)]
        return self.late_rank if self.late_rank is not None else [*with_steps, self.ranks[0].rank][0]

    def state(self, rank: int) -> RankState:
        """Raises KeyError for a rank that was not recorded."""
        found = next((state for state in self.ranks if state.rank == rank), None)
        if found is None:
            raise KeyError(rank)
        return found
