"""A thread's own time: the clock that stands still while the thread is ready to run and has no core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OwnTime:
    """The same moments as recorded and on the thread's own clock, and how long it
    had slept until each: increasing, ns.
    """

    recorded_ns: np.ndarray
    own_ns: np.ndarray
    slept_ns: np.ndarray

    def own(self, recorded: np.ndarray) -> np.ndarray:
        """Moments as recorded on the thread's own clock, to the nanosecond; before and after the
        known ones it runs as the other does.
        """
        return _moved(recorded, self.recorded_ns, self.own_ns)

    def recorded(self, own: np.ndarray) -> np.ndarray:
        return _moved(own, self.own_ns, self.recorded_ns)

    def slept_in(self, intervals: np.ndarray) -> float:
        """ns of these (disjoint) intervals of its own time in which it slept."""
        first, last = (np.interp(intervals[:, side], self.own_ns, self.slept_ns) for side in (0, 1))
        return float((last - first).sum())


def _moved(times: np.ndarray, ndarray: np.ndarray, other: np.ndarray) -> np.ndarray:
    """By how much one clock differs from the other at these times of the one, added to them."""
    return np.asarray(times + np.rint(np.interp(times, ndarray, other - ndarray)), np.int64)
