"""A short search for a fix's number: twice and half of what is known to be
best so far, until neither is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

# a smaller number within this share of the best time is the better one:
# workers and prefetched batches cost memory
KNEE = 0.02
MOST_VALUES = 6


@dataclass(frozen=True)
class Curve:
    """`ms`: the step by number tried; `best` has the shortest, `knee` is the smallest that is
    as good within `KNEE` or the noise.
    """

    argument: str
    ms: dict[int, float]
    best: int
    knee: int


def search(
    argument: str, start: int, largest: int, measured_ms: Callable[[int], float | None], noise: float
) -> Curve | None:
    """`measured_ms(number)` runs it, and gives None when time is up or the run failed.

    None if not even the start was measured.
    """
    known: dict[int, float] = {}
    waiting = [start, *neighbours(start, largest)]
    while waiting and len(known) < MOST_VALUES:
        number = waiting.pop(0)
        ms = measured_ms(number)
        if ms is None:
            break
        known[number] = ms
        if not waiting:
            waiting = [
                neighbour for neighbour in neighbours(best_of(known), largest) if neighbour not in known
            ]
    return (
        Curve(argument, dict(sorted(known.items())), best_of(known), knee_of(known, noise)) if known else None
    )


def neighbours(number: int, largest: int) -> list[int]:
    """Half and double, from 1 to `largest`."""
    return sorted({max(1, number // 2), min(largest, 2 * number)} - {number})


def best_of(known: Mapping[int, float]) -> int:
    return min(known, key=lambda number: known[number])


def knee_of(known: Mapping[int, float], noise: float) -> int:
    """The smallest number whose time cannot be told from the best one's."""
    bound = min(known.values()) * (1 + max(KNEE, noise))
    return min(number for number, ms in known.items() if ms <= bound)
