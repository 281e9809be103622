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

    def times(self, delays: np.ndarray, before_ns: np.ndarray, rounds: int) -> np.ndarray:
        """When each node happens, ns; a row a round. The first waits for the nodes at ``before_ns``, every
        other for those of the round before. ``delays``: of each edge, ns.
        """
        if rounds > 1 and self._stretches.pay:
            return self._stretches.times(delays, before_ns, rounds)
        return self._one_by_one(delays, before_ns, rounds)

    def _one_by_one(self, delays: np.ndarray, before_ns: np.ndarray, rounds: int) -> np.ndarray:
        # Whole numbers add up to the same in any order; a fraction is added where it comes.
        fraction = np.rint(delays) != delays
        if not fraction.any():
            return self._joins.times(delays, before_ns, rounds, repeats=True)
        return _Joins(self._edges, self._slots, self._edges.carried | fraction).times(
            delays, before_ns, rounds
        )

    @cached_property
    def _joins(self) -> _Joins:
        return _Joins(self._edges, self._slots, self._edges.carried)

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


class _Joins:
    """One node after another, but only those at which edges join. Any other node has a single edge: it
    happens a fixed time after the join that leads to it. ``slots``: the edges to each node, (`SLOTS`, nodes);
    ``kept``: the edges both ends of which count as joins.
    """

    def __init__(self, edges: Edges, slots: np.ndarray, kept: np.ndarray) -> None:
        nodes = np.arange(slots.shape[1])
        is_join = (slots != slots[0]).any(axis=0)
        is_join[edges.source[kept]] = is_join[edges.target[kept]] = True
        self._single = np.where(is_join, len(edges), slots[0])  # the only edge to a node
        towards = np.where(is_join, nodes, edges.source[slots[0]])
        self._leaps = []  # towards the join, each twice as far as the one before
        while not is_join[towards].all():
            self._leaps.append(towards)
            towards = towards[towards]
        self._joins = np.flatnonzero(is_join)
        # Two edges meet in a place: of three, the third meets in a second one what came of the others.
        thrice = slots[2, self._joins] != slots[0, self._joins]
        self._places = np.cumsum(1 + thrice) - 1
        self._second = self._places[thrice]
        self._count = len(self._joins) + len(self._second)
        place = np.empty(len(nodes), np.int64)
        place[self._joins] = self._places
        self._place = place[towards]  # of the join that leads to each node
        joins = np.repeat(self._joins, 1 + thrice)
        self._chosen = slots[:2, joins]
        self._chosen[1, self._second] = slots[2, joins[self._second]]
        self._sources = edges.source[self._chosen]
        back = self._place[self._sources] - np.where(edges.carried[self._chosen], self._count, 0)
        back -= np.arange(self._count)
        back[0, self._second] = -1
        self._back: list[list[int]] = back.tolist()
        self._carried: list[int] = np.unique(self._place[edges.source[edges.carried]]).tolist()

    def times(
        self, delays: np.ndarray, before_ns: np.ndarray, rounds: int, repeats: bool = False
    ) -> np.ndarray:
        """As `Clockwork.times`. ``repeats``: rounds that only repeat the one before need not be gone through,
        which sums of whole numbers do to the last digit.
        """
        after = np.append(delays, 0.0)[self._single]  # the join that leads to each node, ns
        for leap in self._leaps:
            after = after + after[leap]
        by_edge = delays[self._chosen] + after[self._sources]
        by_edge[0, self._second] = 0.0
        edges = [*zip(self._back[0], by_edge[0].tolist(), self._back[1], by_edge[1].tolist(), strict=True)]
        before = np.full(self._count, NEVER)
        before[self._places] = before_ns[self._joins]
        times: list[float] = before.tolist()
        while len(times) <= rounds * self._count and not (repeats and self._is_steady(times)):
            for a, delay_a, b, delay_b in edges:
                first, second = times[a] + delay_a, times[b] + delay_b
                times.append(second if second > first else first)
        found = np.fromiter(times, float, len(times)).reshape(-1, self._count)[1:]
        if len(found) < rounds:
            length_ns = (found[-1] - found[-2])[self._carried[0]]
            later = np.arange(1, rounds - len(found) + 1)[:, None]
            found = np.append(found, found[-1] + later * length_ns, axis=0)
        return np.asarray(found[:, self._place] + after)

    def _is_steady(self, times: list[float]) -> bool:
        """Whether two rounds are over and the ends of all lanes moved on by the same: then everything will in
        every round to come.
        """
        if len(times) < 3 * self._count:
            return False
        now, before = -self._count, -2 * self._count
        return len({times[now + end] - times[before + end] for end in self._carried}) == 1


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
        self._carried = np.unique(place[edges.source[edges.carried]])

    @property
    def pay(self) -> bool:
        return len(self._order) >= LEAST_NODES * len(self._spans)

    def times(self, delays: np.ndarray, before_ns: np.ndarray, rounds: int) -> np.ndarray:
        """As `Clockwork.times`. Of whole numbers, rounds that only repeat the one before are not gone
        through, see `_Joins`.
        """
        count, order = len(before_ns), self._order
        repeats = len(self._carried) > 0 and bool((np.rint(delays) == delays).all())
        waits = np.where(self._inner, NEVER, delays[self._slots])
        work = np.cumsum(np.append(delays, 0.0)[self._along])
        times = np.append(before_ns[order], np.zeros(rounds * count))
        for begin in range(count, len(times), count):
            sources = self._sources + begin
            for first, end in self._spans:
                ready = (times[sources[:, first:end]] + waits[:, first:end]).max(axis=0)
                done = work[first:end] - work[first]
                times[begin + first : begin + end] = np.maximum.accumulate(ready - done) + done
            if repeats and begin > count:
                now, before = times[begin : begin + count], times[begin - count : begin]
                lengths = (now - before)[self._carried]
                if (lengths == lengths[0]).all():
                    left = (len(times) - begin) // count
                    times[begin:] = (now + np.arange(left)[:, None] * lengths[0]).reshape(-1)
                    break
        found = np.empty((rounds, count))
        found[:, order] = times[count:].reshape(rounds, count)
        return found
