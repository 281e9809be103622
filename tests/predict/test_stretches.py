"""Timing the nodes of a graph in stretches gives what timing them one by one gives."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

from diagnose.predict.graph import NEVER, Builder, Graph
from diagnose.predict.stretches import Clockwork


def by_hand() -> tuple[Graph, list[float]]:
    """A thread that launches two events and waits for the second; and what each edge takes, ns.

    Its moments: 0 begins, 10 launches a, 20 launches b, 30 waits, 40 returns. On the stream a ends 5 after
    its launch at the earliest, b 50 after a.
    """
    builder = Builder()
    thread = builder.nodes(np.array([0.0, 10, 20, 30, 80])).tolist()
    stream = builder.nodes(np.array([15.0, 65])).tolist()
    builder.edges(thread[:-1], thread[1:], lane=1)
    builder.edges([thread[1], thread[2]], stream, event=[0, 1])
    builder.edges([stream[0]], [stream[1]], event=1)
    builder.edges([stream[1]], [thread[4]], wait=7)
    builder.edges([thread[4]], [thread[0]], carried=True)
    graph = builder.graph(thread[0], [thread[4]], {thread[4]: 0.0}, 1)
    ends = list(zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True))
    # by time: 0 begins, 1 launches a, 2 a ends, 3 launches b, 4 waits, 5 b ends, 6 returns
    takes = {
        (0, 1): 10,
        (1, 3): 10,
        (3, 4): 10,
        (4, 6): 10,
        (1, 2): 5,
        (3, 5): 5,
        (2, 5): 50,
        (5, 6): 2,
        (6, 0): 0,
    }
    return graph, [float(takes[edge]) for edge in ends]


def test_a_thread_and_a_stream() -> None:
    # a ends at 15, b 50 later, the thread returns 2 after that: a round takes 67
    graph, delays = by_hand()
    clockwork, before = Clockwork(graph), np.append(np.full(6, NEVER), 0.0)
    first = np.array([0.0, 10, 15, 20, 30, 65, 67])
    for times in (
        clockwork._one_by_one(np.array(delays), before, 3),
        clockwork._stretches.times(np.array(delays), before, 3),
    ):
        assert times.tolist() == [first.tolist(), (67 + first).tolist(), (134 + first).tolist()]


def node_by_node(graph: Graph, delays: np.ndarray, before: np.ndarray, rounds: int) -> np.ndarray:
    times, ends = [before.tolist()], list(zip(graph.edges.source.tolist(), delays.tolist(), strict=True))
    into: list[list[int]] = [[] for _ in range(len(graph))]
    for edge, target in enumerate(graph.edges.target.tolist()):
        into[target].append(edge)
    for _ in range(rounds):
        now: list[float] = []
        for edges in into:
            of_round = [times[-1] if graph.edges.carried[edge] else now for edge in edges]
            now.append(
                max(known[ends[edge][0]] + ends[edge][1] for known, edge in zip(of_round, edges, strict=True))
            )
        times.append(now)
    return np.array(times[1:])


@pytest.mark.parametrize("seed", range(30))
def test_any_graph(seed: int) -> None:
    """Threads and streams with edges between them in any number, some against the usual."""
    draw = random.Random(seed)
    builder, lanes = Builder(), []
    for lane in range(draw.randint(1, 4)):
        moments = np.sort([draw.randrange(100_000) for _ in range(draw.randint(2, 60))]).astype(float)
        moments[0] = moments[0] if lane else -1.0  # the first of all begins the steps
        nodes = builder.nodes(moments).tolist()
        kind = {"lane": lane} if draw.random() < 0.5 else {"event": 0}
        builder.edges(nodes[:-1], nodes[1:], **kind)
        lanes.append(nodes)
    builder.edges([lanes[0][-1]], [lanes[0][0]], carried=True)
    every = [node for lane in lanes for node in lane]
    for _ in range(draw.choice((0, 3, 40))):
        builder.edges(
            [draw.choice(every)],
            [draw.choice(every[1:])],
            wait=draw.choice((-1, 5)),
            carried=draw.random() < 0.2,
        )
    graph = builder.graph(lanes[0][0], [lanes[0][-1]], {lanes[0][-1]: 0.0}, 1)
    delays = np.array([float(draw.randrange(2_000)) for _ in range(len(graph.edges))])
    gone = np.array([draw.random() < 0.3 for _ in range(len(delays))]) & (graph.edges.wait >= 0)
    clockwork, by_node = Clockwork(graph), partial(node_by_node, graph)
    for before in (graph.before_ns, np.zeros(len(graph))):
        one_by_one = clockwork._one_by_one(np.where(gone, NEVER, delays), before, 3)
        assert (one_by_one == by_node(np.where(gone, NEVER, delays), before, 3)).all()
        fractions = np.where(gone, NEVER, delays * [draw.choice((1, 0.37)) for _ in delays])
        found, exact = (times(fractions, before, 3) for times in (clockwork._one_by_one, by_node))
        np.testing.assert_allclose(found, exact, rtol=1e-15)
        for rounds in (3, 12):  # of many rounds the last ones only repeat those before
            in_stretches = clockwork._stretches.times(np.where(gone, NEVER, delays), before, rounds)
            one_by_one = by_node(np.where(gone, NEVER, delays), before, rounds)
            happens = one_by_one > NEVER / 2
            assert (in_stretches[happens] == one_by_one[happens]).all()
            assert (in_stretches[~happens] < NEVER / 2).all()
