"""One step of all ranks: what each does between the collectives, and the chain of work and
collectives that the step's length hangs on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diagnose.measure.job import Passage, PathPart
from diagnose.ranks.arrivals import left_before

MOST_RANKS = 12  # whose passages are kept: those on the path, then those that wait least
MOST_PASSAGES = 4000


@dataclass(frozen=True)
class OneStep:
    """The collectives of one step. Arrays have the shape (ranks, collectives); nan for a rank that takes no
    part.

    ``begin_ns``: when each rank left the last collective of the step before; ``spent_ns``: by row of the
    ledger, what each rank spent on its way to each collective.
    """

    arrival_ns: np.ndarray
    end_ns: np.ndarray
    begin_ns: np.ndarray
    kinds: Sequence[str]
    spent_ns: Mapping[str, np.ndarray]

    @cached_property
    def left_before_ns(self) -> np.ndarray:
        """When each rank has left all collectives before each one."""
        return left_before(self.end_ns, self.begin_ns)

    @cached_property
    def last_ns(self) -> np.ndarray:
        """When the last rank comes to each collective."""
        return np.fmax.reduce(self.arrival_ns, axis=0)

    @cached_property
    def over_ns(self) -> float:
        """When the last rank has left the last collective."""
        return float(np.nanmax(self.end_ns))

    def row(self, rank: int, meeting: int) -> str:
        """The row of the ledger that takes most of a rank's way to a collective; empty if none does."""
        spent = {row: float(values[rank, meeting]) for row, values in self.spent_ns.items()}
        most = max(spent, key=lambda row: spent[row], default="")
        return most if most and spent[most] > 0 else ""


@dataclass(frozen=True)
class Leg:
    """A piece of the critical path, on the clock of `OneStep`: a rank's way to a collective, or
    the collective from its arrival on.
    """

    rank: int
    meeting: int
    begin_ns: float
    end_ns: float
    is_way: bool


def critical_path(step: OneStep) -> list[Leg]:
    """From the step's beginning to its end without a gap: back from the last collective,
    always to the rank that came last to it.
    """
    ends = np.where(np.isfinite(step.arrival_ns), step.end_ns, -np.inf)
    left_before = step.left_before_ns
    legs: list[Leg] = []
    meeting, until = int(np.argmax(ends.max(axis=0))), step.over_ns
    while meeting >= 0:
        rank = int(np.nanargmax(step.arrival_ns[:, meeting]))
        came = min(float(step.arrival_ns[rank, meeting]), until)
        left = min(float(left_before[rank, meeting]), came)
        legs += [Leg(rank, meeting, came, until, False), Leg(rank, meeting, left, came, True)]
        until = left
        earlier = ends[rank, :meeting]
        meeting = int(np.argmax(earlier)) if len(earlier) and earlier.max() > step.begin_ns[rank] else -1
    return [leg for leg in reversed(legs) if leg.end_ns > leg.begin_ns]


def path_parts(legs: Sequence[Leg], step: OneStep, ranks: Sequence[int]) -> tuple[PathPart, ...]:
    """What the path consists of, by rank and row of the ledger, and by kind of collective; the longest first.

    They add up to the step.
    """
    found: dict[tuple[int | None, str], float] = {}
    for leg in legs:
        for key, ns in _parts_of(leg, step, ranks):
            found[key] = found.get(key, 0.0) + ns
    parts = [PathPart(rank, name, ns / 1e6) for (rank, name), ns in found.items() if ns > 0]
    return tuple(sorted(parts, key=lambda part: -part.ms))


def _parts_of(leg: Leg, step: OneStep, ranks: Sequence[int]) -> list[tuple[tuple[int | None, str], float]]:
    length = leg.end_ns - leg.begin_ns
    if not leg.is_way:
        return [((None, step.kinds[leg.meeting]), length)]
    spent = {row: float(values[leg.rank, leg.meeting]) for row, values in step.spent_ns.items()}
    whole = sum(spent.values())
    if whole <= 0:
        return [((ranks[leg.rank], ""), length)]
    return [((ranks[leg.rank], row), length * ns / whole) for row, ns in spent.items() if ns > 0]


def passages(legs: Sequence[Leg], step: OneStep, ranks: Sequence[int]) -> tuple[Passage, ...]:
    """What the ranks do in the step: their ways, their waiting, the collectives; of
    many ranks and pieces the longest ones.
    """
    zero = float(step.begin_ns.min())
    on_path = {(leg.rank, leg.meeting, leg.is_way) for leg in legs}
    found = [
        Passage(
            ranks[rank],
            what,
            name,
            (begin - zero) / 1e6,
            (end - begin) / 1e6,
            on_path=(rank, meeting, what == "work") in on_path,
        )
        for rank in _shown(legs, step)
        for meeting in np.flatnonzero(np.isfinite(step.arrival_ns[rank])).tolist()
        for what, name, begin, end in _pieces(rank, meeting, step)
        if end > begin
    ]
    kept = sorted(found, key=lambda one: (not one.on_path, -one.ms))[:MOST_PASSAGES]
    return tuple(sorted(kept, key=lambda one: (one.rank, one.start_ms)))


def _pieces(rank: int, meeting: int, step: OneStep) -> list[tuple[str, str, float, float]]:
    """What, its name, from when to when."""
    left, came = float(step.left_before_ns[rank, meeting]), float(step.arrival_ns[rank, meeting])
    last, end = float(step.last_ns[meeting]), float(step.end_ns[rank, meeting])
    kind = step.kinds[meeting]
    return [
        ("work", step.row(rank, meeting), left, came),
        ("wait", kind, max(left, came), last),
        ("collective", kind, max(left, last), end),
    ]


def _shown(legs: Sequence[Leg], step: OneStep) -> list[int]:
    """Positions of the ranks whose passages are kept, in order."""
    waiting = np.nansum(step.last_ns - step.arrival_ns, axis=1)
    on_path = dict.fromkeys(leg.rank for leg in legs)
    order = [*on_path, *(rank for rank in np.argsort(waiting, kind="stable").tolist() if rank not in on_path)]
    return sorted(order[:MOST_RANKS])
