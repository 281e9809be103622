"""Two functions held against each other in one process, by the pairs and intervals of `verify`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from diagnose.verify.ab import Decision, bound_of, decided, pairs_needed
from diagnose.verify.statistics import LOOKS, Comparison, at_a_look, comparison

BLOCK_S = 0.02  # what is timed at once: long beside the clock and what a call costs
MOST_CALLS = 100_000  # of a block
PRECISION = 0.01

Function = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Timed:
    """``comparison``: of the function with the other; ``calls``: in each block that was timed."""

    comparison: Comparison
    decision: Decision
    pairs_needed: int
    calls: int


def held_against(
    before: Function, after: Function, *, tolerance: float, budget_s: float, clock: Clock = time.perf_counter
) -> Timed:
    """Blocks of calls of both in turns, A B B A, until it is decided whether the second is slower by more
    than the tolerance (a share), or the time is up, though not before two pairs. What the functions raise is
    raised.
    """
    began = clock()
    calls = max(_calls(before, clock), _calls(after, clock))
    sides = {"A": before, "B": after}
    ms: dict[str, list[float]] = {"A": [], "B": []}
    while True:
        for name in ("AB", "BA")[len(ms["A"]) % 2]:
            ms[name].append(1000 * _block_s(sides[name], calls, clock) / calls)
        pairs = len(ms["A"])
        late = clock() - began >= budget_s and pairs >= 2
        if pairs in LOOKS or late:
            look = at_a_look(pairs)
            found = comparison(ms["A"][:look], ms["B"][:look])
            decision = decided(found, tolerance, PRECISION)
            if decision != "unclear" or late or pairs == LOOKS[-1]:
                bound = bound_of(tolerance, PRECISION)
                needed = pairs_needed(found, bound) if decision == "unclear" else 0
                return Timed(found, decision, needed, calls)


def _calls(function: Function, clock: Clock) -> int:
    """How many take `BLOCK_S`; its first call, which may compile or load, does not count."""
    function()
    calls = 1
    while calls < MOST_CALLS and (took := _block_s(function, calls, clock)) < BLOCK_S:
        calls = min(MOST_CALLS, int(1.1 * calls * BLOCK_S / max(took, 1e-9)) + 1)
    return calls


def _block_s(function: Function, calls: int, clock: Clock) -> float:
    began = clock()
    for _ in range(calls):
        function()
    return clock() - began
