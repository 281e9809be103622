"""The dependency graph of a run of steps: what had to happen before what.

A node is a moment: the host reaches a call or leaves it, or a GPU event ends. An edge is a delay between two:
host work of a thread, a GPU event's duration with the gap or launch latency before it, or the return from a
wait. A node happens as soon as all its edges allow (Daydream, ATC '20; Lumos, MLSys '25). The graph goes
round: the first nodes wait for the last ones of the round before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

SLOTS = 3  # edges a node can have: a GPU event waits for its stream, its launch and one other stream
# by which the clocks of host and GPU may differ; an edge further against the recorded order is a wrong guess
SKEW_NS = 10_000
JUST_BEHIND_NS, MOST_PASSES = 0.01, 200
NEVER = -(2.0**60)  # ns: before anything


@dataclass(frozen=True)
class Edges:
    """Columns, a value an edge. Its delay: ``const_ns``, the work of the host thread ``lane`` from
    ``from_ns`` to ``to_ns``, the duration of the device row ``event``, and ``held_ns``, in which an idle
    device did not run what was queued: it stays where the event itself goes. ``wait``: the host row of the
    call that waits. ``carried``: the source is of the round before. -1 is none.
    """

    source: np.ndarray
    target: np.ndarray
    const_ns: np.ndarray
    held_ns: np.ndarray
    lane: np.ndarray
    from_ns: np.ndarray
    to_ns: np.ndarray
    event: np.ndarray
    wait: np.ndarray
    carried: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    def at(self, chosen: np.ndarray) -> Edges:
        """The chosen edges (positions or flags)."""
        return Edges(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True)
class Graph:
    """``recorded_ns``: when each node happened, in an order in which every source comes before its targets.
    ``before_ns``: when the nodes of the round before that this one waits for had happened, `NEVER` where
    there are none. ``span_ns``: from begin to end of the steps on the host.
    """

    recorded_ns: np.ndarray
    edges: Edges
    before_ns: np.ndarray
    span_ns: int
    ends: np.ndarray  # the nodes at which the host ends the last step, one a rank
    step_count: int

    def __len__(self) -> int:
        return len(self.recorded_ns)


class Builder:
    """Collects nodes and edges in any order, then makes a graph of them."""

    def __init__(self) -> None:
        self._times: list[np.ndarray] = []
        self._edges: list[Edges] = []
        self._count = 0

    def nodes(self, recorded_ns: np.ndarray) -> np.ndarray:
        """New nodes that happened at these times; their numbers."""
        self._times.append(np.asarray(recorded_ns, np.float64))
        self._count += len(recorded_ns)
        return np.arange(self._count - len(recorded_ns), self._count)

    def edges(self, source: ArrayLike, target: ArrayLike, **columns: ArrayLike) -> None:
        """New edges; columns that are not given are 0, or -1 where that means none."""
        given = {
            "const_ns": 0.0,
            "held_ns": 0.0,
            "lane": -1,
            "from_ns": 0,
            "to_ns": 0,
            "event": -1,
            "wait": -1,
            "carried": False,
            **columns,
        }
        ends = {"source": np.asarray(source, np.int64), "target": np.asarray(target, np.int64)}
        self._edges.append(
            Edges(
                **ends,
                **{name: np.broadcast_to(value, ends["source"].shape) for name, value in given.items()},
            )
        )

    def graph(self, begin: int, ends: Sequence[int], left: Mapping[int, float], step_count: int) -> Graph:
        """``begin``, ``ends``: nodes that begin and end the steps on the host; ``left``: node →
        when its like was the round before, ns.
        """
        times = np.concatenate(self._times)
        edges = Edges(
            *(np.concatenate([getattr(part, field.name) for part in self._edges]) for field in fields(Edges))
        )
        edges = edges.at(edges.carried | (times[edges.source] <= times[edges.target] + SKEW_NS))
        order = _order(edges, times)
        position = np.argsort(order)
        edges = Edges(
            position[edges.source],
            position[edges.target],
            *(getattr(edges, field.name) for field in fields(Edges)[2:]),
        )
        edges = edges.at(edges.carried | (edges.source < edges.target))
        edges = _without_orphans(edges, times[order], int(position[begin]))
        before = np.full(len(times), NEVER)
        for node, at in left.items():
            before[position[node]] = at
        span_ns = int(max(times[np.asarray(ends)]) - times[begin])
        return Graph(
            times[order],
            _binding(edges, times[order]),
            before,
            span_ns,
            position[np.asarray(ends)],
            step_count,
        )


def _order(edges: Edges, times: np.ndarray) -> np.ndarray:
    """The nodes by time, but each behind those it waits for, which another clock may have put a little
    later.
    """
    source, target = (ends[~edges.carried] for ends in (edges.source, edges.target))
    key = times.copy()
    for _ in range(MOST_PASSES):
        wrong = key[source] >= key[target]
        if not wrong.any():
            break
        np.maximum.at(key, target[wrong], key[source[wrong]] + JUST_BEHIND_NS)
    return np.argsort(key, kind="stable")


def _without_orphans(edges: Edges, times: np.ndarray, begin: int) -> Edges:
    """A node that nothing explains happens as long after the begin of the steps as it was recorded."""
    orphans = np.setdiff1d(np.arange(len(times)), edges.target)
    orphans = orphans[orphans > begin]
    zeros, none = np.zeros(len(orphans), np.int64), np.full(len(orphans), -1)
    fixed = Edges(
        source=zeros + begin,
        target=orphans,
        const_ns=times[orphans] - times[begin],
        held_ns=zeros,
        lane=none,
        from_ns=zeros,
        to_ns=zeros,
        event=none,
        wait=none,
        carried=zeros > 0,
    )
    return Edges(
        *(np.concatenate([getattr(part, field.name) for part in (edges, fixed)]) for field in fields(Edges))
    )


def _binding(edges: Edges, times: np.ndarray) -> Edges:
    """At most `SLOTS` edges a node, sorted by target: those whose source happened last."""
    arrival = np.where(edges.carried, NEVER, times[edges.source])
    edges = edges.at(np.lexsort((-arrival, edges.target)))
    first = np.searchsorted(edges.target, edges.target)
    return edges.at(np.arange(len(edges)) - first < SLOTS)
