"""What calls took, added up by the line of the user's that makes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .places import Place

LINES_AT_MOST = 50


@dataclass
class Sum:
    """Counts are whole in one step; an average over several is not."""

    call_count: float = 0
    ns: int = 0
    trained_ns: int = 0  # of those whose result needs gradients

    def add(self, ns: int, trained_ns: int, count: float = 1) -> None:
        self.call_count += count
        self.ns += ns
        self.trained_ns += trained_ns

    def add_part(self, other: Sum, part: float, count_part: float) -> None:
        """As large a part of its time and of its count."""
        self.add(round(other.ns * part), round(other.trained_ns * part), other.call_count * count_part)


@dataclass
class Mendable:
    """Calls of which a fix leaves a part of the time, by line."""

    sums: dict[Place, Sum] = field(default_factory=dict)
    left_ns: Counter[Place] = field(default_factory=Counter)

    def add(self, place: Place, ns: int, trained_ns: int, left: float, count: float = 1) -> None:
        """``left``: the share of the call's time that is left after the fix."""
        self.sums.setdefault(place, Sum()).add(ns, trained_ns, count)
        self.left_ns[place] += round(left * ns)

    def take_back(self, place: Place, ns: int, trained_ns: int, left: float) -> None:
        """A call that was added."""
        self.add(place, -ns, -trained_ns, left, -1)
        if not self.sums[place].call_count:
            del self.sums[place], self.left_ns[place]


def listed(sums: dict[Place, Sum]) -> list[dict[str, Any]]:
    """As it stands in the facts, costliest first."""
    return [
        {**place._asdict(), "call_count": calls.call_count, "ns": calls.ns, "trained_ns": calls.trained_ns}
        for place, calls in costliest(sums)
    ]


def costliest(sums: dict[Place, Sum]) -> list[tuple[Place, Sum]]:
    """The first lines, by time."""
    return sorted(sums.items(), key=lambda item: -item[1].ns)[:LINES_AT_MOST]
