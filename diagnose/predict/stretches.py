"""When the nodes of a graph happen, given what each edge takes.

One after another in Python; or, where that pays, in stretches: nodes along a thread or a stream of which each
follows the one before, while all else they wait for happened in earlier stretches. Then the times of a
stretch are a running maximum, t_i = S_i + max(r_j - S_j over j <= i) with S the running sum of its delays and
r_j when all else that node j waits for is over: the same recurrence, in max-plus algebra.
"""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np

from diagnose.predict.graph import NEVER, SLOTS, Edges, Graph

LEAST_NODES = 40  # of a stretch on average: below that, array operations cost more than a loop does


class Clockwork:
    """A graph, ready for its nodes to be timed again and again with other delays."""

    def __init__(self, graph: Graph) -> None:
        self._count = len(graph)
        self._edges = edges = graph.edges
        filled = np.full((len(graph), SLOTS), -1)
        filled[edges.target, np.arange(len(edges)) - np.searchsorted(edges.target, edges.target)] = np.arange(
            len(edges)
        )
        # a node with fewer edges has its first one again
        self._slots = np.where(filled < 0, filled[:, :1], filled).T
        distance = edges.target - edges.source + np.where(edges.carried, len(graph), 0)
        self._distances = [(-distance[slot]).tolist() for slot in self._slots]

    def times(self, delays: np.ndarray, before_ns: np.ndarray, rounds: int) -> np.ndarray:
        """When each node happens, ns; a row a round. The first waits for the nodes at ``before_ns``, every
        other for those of the round before. ``delays``: of each edge, ns.
        """
        if rounds > 1 and self._stretches.pay:
            return self._stretches.times(delays, before_ns, rounds)
        return self._one_by_one(delays, before_ns, rounds)

    def _one_by_one(self, delays: np.ndarray, before_ns: np.ndarray, rounds: int) -> np.ndarray:
        times: list[float] = before_ns.tolist()
        first, second, third = self._distances
        by_slot = [delays[slot].tolist() for slot in self._slots]
        for _ in range(rounds):
            for a, delay_a, b, delay_b, c, delay_c in zip(
                first, by_slot[0], second, by_slot[1], third, by_slot[2], strict=True
            ):
                latest, other = times[a] + delay_a, times[b] + delay_b
                if other > latest:
                    latest = other
                other = times[c] + delay_c
                times.append(other if other > latest else latest)
        return np.array(times[len(before_ns) :]).reshape(rounds, -1)

    @cached_property
    def _stretches(self) -> _Stretches:
        edges, follows = self._edges, self._follows
        # how many stretches have to come before a node: each edge between two of them counts
        counts = np.where(edges.carried, 0.0, 1.0)
        counts[follows] = 0.0
        depth = self._one_by_one(counts, np.zeros(self._count), 1)[0]
        return _Stretches(edges, self._slots, follows, depth)

    @property
    def _follows(self) -> np.ndarray:
        """The edges along threads and streams: one at most to each node and from each. A wait may go."""
        edges = self._edges
        chosen = np.empty(0, np.int64)
        to, since = (np.zeros(self._count, bool) for _ in range(2))
        for along in (edges.lane >= 0, edges.lane < 0):  # a launch is followed by what its thread does next
            free = np.flatnonzero(
                along & ~edges.carried & (edges.wait < 0) & ~to[edges.target] & ~since[edges.source]
            )
            for ends in (edges.target, edges.source):
                free = free[np.unique(ends[free], return_index=True)[1]]
            chosen = np.append(chosen, free)
            to[edges.target[free]] = since[edges.source[free]] = True
        return chosen


class _Stretches:
    """``slots``: the edges to each node, (`SLOTS`, nodes); ``follows``: those along threads and streams;
    ``depth``: how many stretches have to come before each node.
    """

    def __init__(self, edges: Edges, slots: np.ndarray, follows: np.ndarray, depth: np.ndarray) -> None:
        count = len(depth)
        first = np.arange(count)  # of the thread or stream
        first[edges.target[follows]] = edges.source[follows]
        while (first[first] != first).any():
            first = first[first]
        self._order = np.lexsort((first, depth))  # within a stretch as in the graph
        place = np.argsort(self._order)
        another = (np.diff(depth[self._order]) != 0) | (np.diff(first[self._order]) != 0)
        borders = [0, *(np.flatnonzero(another) + 1).tolist(), count]
        self._spans = list(itertools.pairwise(borders))
        inner = follows[depth[edges.source[follows]] == depth[edges.target[follows]]]
        self._along = np.full(count, -1)  # the edge from the node before in the stretch
        self._along[place[edges.target[inner]]] = inner
        self._slots = slots[:, self._order]
        self._inner = np.isin(self._slots, inner)
        self._sources = (place[edges.source] - np.where(edges.carried, count, 0))[self._slots]

    @property
    def pay(self) -> bool:
        return len(self._order) >= LEAST_NODES * len(self._spans)

    def times(self, delays: np.ndarray, before_ns: np.ndarray, rounds: int) -> np.ndarray:
        """As `Clockwork.times`."""
        count, order = len(before_ns), self._order
        waits = np.where(self._inner, NEVER, delays[self._slots])
        work = np.cumsum(np.append(delays, 0.0)[self._along])
        times = np.append(before_ns[order], np.zeros(rounds * count))
        for begin in range(count, len(times), count):
            sources = self._sources + begin
            for first, end in self._spans:
                ready = (times[sources[:, first:end]] + waits[:, first:end]).max(axis=0)
                done = work[first:end] - work[first]
                times[begin + first : begin + end] = np.maximum.accumulate(ready - done) + done
        found = np.empty((rounds, count))
        found[:, order] = times[count:].reshape(rounds, count)
        return found
