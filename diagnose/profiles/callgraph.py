"""Who called whom, and for how long: from it, to whom a function's time belongs.

A profile of calls knows callers, not stacks. So a function's time is split over its callers by the time that
it took for each, and theirs over their own, as gprof does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

_MOST_ROUNDS = 2000  # calls as deep as that are followed,
_MOST_STEPS = 50_000_000  # as far as all calls together allow it
_SETTLED = 1e-7  # of all


@dataclass(frozen=True)
class Edge:
    """``seconds``: from the call to its end, over all calls of ``child`` by ``parent``."""

    child: int
    parent: int
    calls: int
    seconds: float


class CallGraph:
    """``self_s``: of each function, in it alone; ``calls``: how often each was called."""

    def __init__(self, self_s: np.ndarray, calls: np.ndarray, edges: Iterable[Edge]) -> None:
        kept = [edge for edge in edges if edge.child != edge.parent]
        self.self_s, count = self_s, len(self_s)
        self._child = np.array([edge.child for edge in kept], np.int64)
        self._parent = np.array([edge.parent for edge in kept], np.int64)
        seconds = np.array([edge.seconds for edge in kept])
        by = np.array([edge.calls for edge in kept], float)
        taken = np.bincount(self._child, seconds, count)[self._child]
        called = np.bincount(self._child, by, count)[self._child]
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(taken > 0, seconds / taken, by / called)
        known = np.minimum(np.bincount(self._child, by, count) / np.maximum(calls, 1), 1)
        self._rounds = min(_MOST_ROUNDS, max(50, _MOST_STEPS // max(1, len(kept))))
        self._weight = np.nan_to_num(weight, posinf=0.0) * known[self._child]

    def absorbed(self, seconds: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """Where time ends that starts at functions and goes on to callers until one of ``stops``; what meets
        none of them is left out.
        """
        count, held, moving = len(seconds), np.zeros(len(seconds)), seconds
        enough = _SETTLED * max(seconds.sum(), 1e-12)
        for _ in range(self._rounds):
            held = held + np.where(stops, moving, 0.0)
            left = np.where(stops, 0.0, moving)
            moving = np.bincount(self._parent, left[self._child] * self._weight, count)
            if moving.sum() <= enough:
                break
        return held

    def chance(self, stops: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Of each function: the share of its time that on its way to callers meets one of ``stops`` before
        any of ``others``.
        """
        count, found = len(stops), stops.astype(float)
        for _ in range(self._rounds):
            above = np.bincount(self._child, self._weight * found[self._parent], count)
            again = np.where(stops, 1.0, np.where(others, 0.0, above))
            if np.abs(again - found).max(initial=0.0) <= _SETTLED:
                break
            found = again
        return np.minimum(found, 1.0)
