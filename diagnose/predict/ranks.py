"""Several ranks of one job, replayed together: a collective begins when its last rank
has come, and ends for all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from diagnose.errors import DiagnoseError
from diagnose.measure.view import Rows
from diagnose.predict.graph import NEVER, SLOTS, Builder, Edges, Graph
from diagnose.predict.replay import Edit, Replay


class Ranks:
    """The replays of all ranks as one. ``collectives``: for each rank the device rows of its
    collectives, in the order they were launched.

    A collective's own time is that of the rank that came last: the others waited inside theirs. Raises
    DiagnoseError if the ranks did not record equally many steps and collectives.
    """

    def __init__(self, replays: Sequence[Replay], collectives: Sequence[Rows]) -> None:
        for what, counts in (
            ("steps", [replay.graph.step_count for replay in replays]),
            ("collectives", [len(rows) for rows in collectives]),
        ):
            if len(set(counts)) != 1 or not counts[0]:
                raise DiagnoseError(
                    "the ranks cannot be replayed together",
                    saw=f"{what} by rank: {', '.join(map(str, counts))}",
                )
        durations = np.concatenate([replay.durations_ns for replay in replays])
        # Numbers of lanes, calls and device rows, of each rank behind those of the ranks before it.
        self._first = {
            "event": np.cumsum([0, *(len(replay.durations_ns) for replay in replays)]),
            "lane": np.cumsum([0, *(replay.graph.edges.lane.max(initial=0) + 1 for replay in replays)]),
            "wait": np.cumsum([0, *(replay.graph.edges.wait.max(initial=0) + 1 for replay in replays)]),
        }
        meetings = np.stack(
            [self._numbered(rank, "event", rows) for rank, rows in enumerate(collectives)], axis=1
        )
        edges = [self._edges(rank, replay.graph.edges) for rank, replay in enumerate(replays)]
        self.replay = Replay(
            _joined([replay.graph for replay in replays], edges, meetings, durations), durations
        )

    def step_ns(self, edits: Sequence[Sequence[Edit]]) -> float:
        """A steady step of the whole job, ns; ``edits``: those of each rank."""
        return self.replay.step_ns([self._edit(rank, edit) for rank, own in enumerate(edits) for edit in own])

    def _numbered(self, rank: int, column: str, numbers: np.ndarray) -> np.ndarray:
        return np.where(numbers >= 0, numbers + self._first[column][rank], -1)

    def _edges(self, rank: int, edges: Edges) -> Edges:
        return replace(
            edges, **{column: self._numbered(rank, column, getattr(edges, column)) for column in self._first}
        )

    def _edit(self, rank: int, edit: Edit) -> Edit:
        lane = int(self._numbered(rank, "lane", np.array(edit.lane)))
        known = edit.unblocked[edit.unblocked < np.diff(self._first["wait"])[rank]]
        return replace(
            edit,
            lane=lane,
            events=self._numbered(rank, "event", edit.events),
            held=self._numbered(rank, "event", edit.held),
            unblocked=self._numbered(rank, "wait", known),
        )


def _joined(
    graphs: Sequence[Graph], edges: Sequence[Edges], meetings: np.ndarray, durations_ns: np.ndarray
) -> Graph:
    """The ranks' graphs as one.

    ``meetings``: device rows, one a rank, that are one collective; shape (collectives, ranks).
    """
    builder = Builder()
    first = np.cumsum([0, *map(len, graphs)])
    moved = [
        replace(own, source=own.source + node, target=own.target + node)
        for own, node in zip(edges, first[:-1], strict=True)
    ]
    every = Edges(*(np.concatenate([getattr(own, field.name) for own in moved]) for field in fields(Edges)))
    end_of = np.full(len(durations_ns), -1)
    end_of[every.event[every.event >= 0]] = every.target[every.event >= 0]
    recorded = np.concatenate([graph.recorded_ns for graph in graphs])
    # The clocks of the ranks are set so that they leave their collectives at the same time.
    behind = np.median(recorded[end_of[meetings]] - recorded[end_of[meetings]][:, :1], axis=0)
    shift = np.repeat(behind, np.diff(first))
    builder.nodes(recorded - shift)
    arrival = np.full(len(durations_ns), -1)
    comes = meetings.reshape(-1)
    arrival[comes] = builder.nodes((recorded - shift)[end_of[comes]] - durations_ns[comes])
    meets = (every.event >= 0) & (arrival[every.event] >= 0)
    every = replace(
        every,
        target=np.where(meets, arrival[every.event], every.target),
        event=np.where(meets, -1, every.event),
    )
    builder.edges(**{field.name: getattr(every, field.name) for field in fields(Edges)})
    for rows in meetings:
        _meet(
            builder,
            arrival[rows],
            end_of[rows],
            (recorded - shift)[end_of[rows]].max(),
            int(rows[np.argmin(durations_ns[rows])]),
        )
    before = np.concatenate([graph.before_ns for graph in graphs])
    left = {int(node): float(before[node] - shift[node]) for node in np.flatnonzero(before > NEVER)}
    ends = [int(graph.ends[0]) + first[rank] for rank, graph in enumerate(graphs)]
    begin = int(np.flatnonzero(every.carried & (every.source == ends[0]))[0])
    return builder.graph(int(every.target[begin]), ends, left, graphs[0].step_count)


def _meet(builder: Builder, arrivals: np.ndarray, ends: np.ndarray, left_ns: float, fastest: int) -> None:
    """A collective: all wait for the last to come, found three nodes at a time, then all
    leave after the fastest one's duration.
    """
    hub, *others = arrivals.tolist()
    while others:
        group, others = [hub, *others[: SLOTS - 1]], others[SLOTS - 1 :]
        (hub,) = builder.nodes(np.array([left_ns - 1.0])).tolist()
        builder.edges(group, [hub] * len(group))
    builder.edges([hub] * len(ends), ends, event=fastest)
