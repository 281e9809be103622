"""The recorded collectives of a job, replayed: each begins when its last rank has come, and on its
way there a rank takes what it took.
"""

from __future__ import annotations

import numpy as np

from diagnose.ranks.arrivals import left_before


class CollectiveReplay:
    """The meetings of all ranks, in the order of launch.

    ``arrival_ns``, ``end_ns``: on one clock, shape (ranks, collectives), nan for a rank that takes
    no part. ``begin_ns``: when each rank left the collective before the first of these. Replayed as
    it is, the recording comes out again.

    What a rank computes while a collective is still under way is taken to depend on that collective, so where
    much of it is hidden behind computation a gain is the larger the later such a rank really is: an estimate,
    good where ranks wait for each other.
    """

    def __init__(self, arrival_ns: np.ndarray, end_ns: np.ndarray, begin_ns: np.ndarray) -> None:
        self._begin_ns = begin_ns.astype(np.float64)
        self.takes_part = np.isfinite(arrival_ns)
        self._stay_ns = end_ns - np.fmax.reduce(arrival_ns, axis=0)
        self._way_ns = arrival_ns - left_before(end_ns, self._begin_ns)

    def end_ns(self, less_ns: np.ndarray | None = None) -> float:
        """When the last rank leaves the last collective, if each takes so much less on its way
        to each; shape (ranks, collectives).

        No way becomes shorter than nothing; what begins before the collective ahead of it has
        ended keeps its place before that end.
        """
        less = np.zeros_like(self._way_ns) if less_ns is None else less_ns
        way_ns = np.where(self._way_ns > 0, np.maximum(self._way_ns - less, 0.0), self._way_ns)
        left = self._begin_ns.copy()
        for meeting in range(way_ns.shape[1]):
            there = self.takes_part[:, meeting]
            last = (left[there] + way_ns[there, meeting]).max()
            left[there] = np.maximum(left[there], last + self._stay_ns[there, meeting])
        return float(left.max())

    def gain_ns(self, less_ns: np.ndarray) -> float:
        """How much earlier all is over; never negative."""
        return max(0.0, self.end_ns() - self.end_ns(less_ns))
