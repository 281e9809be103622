"""A short search for a fix's number: twice and half of what is known to be
best so far, until neither is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

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
    return curve_of(argument, {number: [ms] for number, ms in known.items()}, noise) if known else None


def curve_of(argument: str, measured: Mapping[int, Sequence[float]], noise: float) -> Curve:
    """Of one run or two of each number, the fastest, for what disturbs a run only makes it longer; two runs
    that differ by more than `noise` are the noise.
    """
    known = {number: min(runs) for number, runs in sorted(measured.items())}
    moved = [max(runs) / min(runs) - 1 for runs in measured.values() if len(runs) > 1]
    noise = max(noise, median(moved) if moved else 0.0)
    return Curve(argument, known, best_of(known), knee_of(known, noise))


def neighbours(number: int, largest: int) -> list[int]:
    """Half and double, from 1 to `largest`."""
    return sorted({max(1, number // 2), min(largest, 2 * number)} - {number})


def best_of(known: Mapping[int, float]) -> int:
    return min(known, key=lambda number: known[number])


def knee_of(known: Mapping[int, float], noise: float) -> int:
    """The smallest number whose time cannot be told from the best one's."""
    bound = min(known.values()) * (1 + max(KNEE, noise))
    return min(number for number, ms in known.items() if ms <= bound)
