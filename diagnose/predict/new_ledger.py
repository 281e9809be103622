"""The ledger of the steps with changes made.

A replay tells when every GPU event runs, and how far each thread has come when. So the recorded tables are
written again with the times of the replay, and the ledger is peeled from them as from any recording
(`diagnose.measure.ledger`): nothing is known here of what a row means.

Between two nodes of the graph a thread first works, at the pace the edits leave it, then waits; a
wait that got shorter or longer is stretched evenly. Threads without a node of their own are left
out: the ledger does not ask for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from diagnose.measure.ledger import COMPILATION, Ledger, step_ledger
from diagnose.measure.selection import Selection
from diagnose.measure.view import NO_ROWS, Rows, View
from diagnose.predict.prediction import Change, Prediction, saved_on_average_ms
from diagnose.predict.replay import ROUNDS, STEADY_ROUNDS, Edit, Replay
from diagnose.trace.schema import Trace

ROUNDING_MS = 1e-3

Moved = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Replayed:
    """The recorded steps with edits made. ``view``: all rounds, one after another, of which
    the steady ones are its complete step.

    ``rounds_ns``: when each node of the graph happened (`Replay.rounds_ns`). ``rows_ms``: the rows
    of the ledger of the replayed steps alone, ms of the plain step; ``wait_ms`` of them is for
    worker processes, which no replay holds.
    """

    edits: Sequence[Edit]
    rounds_ns: np.ndarray
    view: View
    ledger: Ledger
    rows_ms: Mapping[str, float]
    wait_ms: float


def ledger_after(prediction: Prediction, changes: Iterable[Change] = ()) -> dict[str, float]:
    """The rows of the ledger with all these changes made, ms of the plain step; together they are
    `Prediction.step_ms` of the changes.
    """
    changes = list(changes)
    return changed_ledger(prediction, replayed(prediction), replayed(prediction, changes), changes)


def changed_ledger(
    prediction: Prediction, now: Replayed, then: Replayed, changes: Iterable[Change]
) -> dict[str, float]:
    """The same, of the replays without the changes and with them.

    A row is what was recorded of all complete steps and how it changes between two replays, which are of some
    of these steps. Rows that this would make negative are 0, and the others pay for it; so they do for what
    only some steps take (`Change.seldom`). Where the host ran ahead of the GPU the recorded steps are
    shorter than steady ones: then the rows are those of the replay.
    """
    recorded_ms = {row: prediction.measured.row_ms(row) for row in now.rows_ms}
    short_ms = sum(recorded_ms.values()) - sum(now.rows_ms.values())
    rows_ms = dict(then.rows_ms)
    if short_ms > -ROUNDING_MS:
        rows_ms = {row: recorded_ms[row] + then.rows_ms[row] - now.rows_ms[row] for row in now.rows_ms}
        # a simulated wait for worker processes may fall short of the recorded one
        rows_ms["input_wait"] -= short_ms
    return _adding_up(rows_ms, sum(then.rows_ms.values()) - saved_on_average_ms(changes))


def replayed(prediction: Prediction, changes: Iterable[Change] = ()) -> Replayed:
    """The steps with all these changes made."""
    return replayed_with(prediction, *prediction.steady(changes))


def replayed_with(prediction: Prediction, edits: Sequence[Edit], step_ms: float) -> Replayed:
    """The steps with the edits made, each of which takes ``step_ms`` with its wait for worker processes."""
    selection = prediction.measured.timeline
    assert selection is not None
    rounds_ns = prediction.replay.rounds_ns(edits)
    view = View(_replayed_trace(selection, prediction.replay, edits, rounds_ns))
    ledger = step_ledger(view)
    per_step = prediction.scale / STEADY_ROUNDS / prediction.replay.graph.step_count
    rows_ms = {row: ledger.ns(row) * per_step for row in ledger.rows}
    wait_ms = step_ms - sum(rows_ms.values())
    if wait_ms > ROUNDING_MS:
        rows_ms["input_wait"] += wait_ms
    return Replayed(
        edits,
        rounds_ns,
        view,
        ledger,
        _adding_up(rows_ms, step_ms),
        wait_ms if wait_ms > ROUNDING_MS else 0.0,
    )


def _adding_up(rows_ms: dict[str, float], step_ms: float) -> dict[str, float]:
    """The rows, none of them negative, in proportion so that together they are the step."""
    positive_ms = {row: max(0.0, ms) for row, ms in rows_ms.items()}
    scale = max(0.0, step_ms) / sum(positive_ms.values()) if any(positive_ms.values()) else 0.0
    return {row: ms * scale for row, ms in positive_ms.items()}


def moments_of_last_round(replay: Replay, replayed: Replayed, lane: int) -> Moved:
    """From recorded moments of a thread, ns, to those of the last round."""
    return _moments(replay, replayed.edits, lane, replayed.rounds_ns[-1:])[0]


def _replayed_trace(view: Selection, replay: Replay, edits: Sequence[Edit], rounds_ns: np.ndarray) -> Trace:
    """The recording as the edits leave it: every round of the replay, one after another;
    the steady ones are its complete step.

    A row keeps the label it has in the recording's table.
    """
    begin_ns, end_ns = map(round, replay.steady_ns(rounds_ns))
    rows = _host_rows(view, replay)
    steps = view.trace.steps.iloc[:1].assign(start_ns=begin_ns, end_ns=end_ns, complete=True)
    host, device = _host(view, replay, edits, rounds_ns, rows), _device(view, replay, edits, rounds_ns, rows)
    return replace(view.trace, host=host, device=device, steps=steps)


def _host_rows(view: Selection, replay: Replay) -> Rows:
    """The events of the replayed steps on threads that are replayed; of Python
    frames those that the ledger asks for.
    """
    graph = replay.graph
    end_ns = graph.recorded_ns[graph.ends[0]]
    start, dur = view.host["start_ns"].to_numpy(), view.host["dur_ns"].to_numpy()
    on_lane = np.isin(view.host["tid"].to_numpy(), np.unique(graph.edges.lane))
    asked_for = np.asarray(view.kind != "python") | view.name_matches(COMPILATION)
    return np.flatnonzero(on_lane & asked_for & (start < end_ns) & (start + dur > end_ns - graph.span_ns))


def _host(
    view: Selection, replay: Replay, edits: Sequence[Edit], rounds_ns: np.ndarray, rows: Rows
) -> pd.DataFrame:
    table = view.host.iloc[rows]
    tid, start = table["tid"].to_numpy(), table["start_ns"].to_numpy()
    times = np.stack([start, start + table["dur_ns"].to_numpy()])
    moved = np.zeros((ROUNDS, *times.shape))
    for lane in np.unique(tid).tolist():
        for number, at in enumerate(_moments(replay, edits, lane, rounds_ns)):
            moved[number][:, tid == lane] = at(times[:, tid == lane])
    start, end = np.rint(moved).astype(np.int64).transpose(1, 0, 2).reshape(2, -1)
    parent = _in_each_round(_positions(table["parent"].to_numpy(), rows), len(rows))
    table = table.iloc[np.tile(np.arange(len(rows)), ROUNDS)]
    # A call that no longer waits is like any other: its name must not tell the ledger of a wait.
    unblocked = np.isin(np.tile(rows, ROUNDS), np.concatenate([NO_ROWS, *(edit.unblocked for edit in edits)]))
    name = table["name"].mask(unblocked)
    return table.assign(start_ns=start, dur_ns=np.maximum(end - start, 0), name=name, parent=parent)


def _moments(replay: Replay, edits: Sequence[Edit], lane: int, rounds_ns: np.ndarray) -> list[Moved]:
    """For each round, from recorded to replayed moments of a thread, ns."""
    graph, clock = replay.graph, replay.clock(lane, edits)
    # From a node to the next one of its thread. The training thread's edge past the work of another begins
    # where the next one does, which comes after it and counts.
    mine = np.flatnonzero((graph.edges.lane == lane) & ~graph.edges.carried)
    edges = graph.edges.at(mine[np.lexsort((graph.edges.source[mine], graph.edges.from_ns[mine]))])
    until = np.append(edges.from_ns[1:], graph.recorded_ns[edges.target[-1:]])
    worked = clock(edges.to_ns) - clock(edges.from_ns)

    def moments(times_ns: np.ndarray) -> Moved:
        begins = times_ns[edges.source]
        waits = np.append(begins[1:], times_ns[edges.target[-1:]]) - begins - worked

        def moved(times: np.ndarray) -> np.ndarray:
            times = np.maximum(times, edges.from_ns[0])
            at = np.searchsorted(edges.from_ns, times, side="right") - 1
            work = clock(np.minimum(times, edges.to_ns[at])) - clock(edges.from_ns[at])
            waited = np.clip((times - edges.to_ns[at]) / np.maximum(until[at] - edges.to_ns[at], 1), 0, 1)
            return begins[at] + work + waited * waits[at]

        return moved

    return [moments(times_ns) for times_ns in rounds_ns]


def _device(
    view: Selection, replay: Replay, edits: Sequence[Edit], rounds_ns: np.ndarray, host_rows: Rows
) -> pd.DataFrame:
    edges = replay.graph.edges
    rows, first = np.unique(edges.event, return_index=True)
    rows, node = rows[rows >= 0], edges.target[first][rows >= 0]
    lasts = replay.event_ns(edits)[rows]
    ends = np.rint(rounds_ns[:, node]).astype(np.int64)
    table = view.device.iloc[np.tile(rows, ROUNDS)]
    launches = _in_each_round(_positions(view.device["launch"].to_numpy()[rows], host_rows), len(host_rows))
    durations = np.tile(np.rint(lasts).astype(np.int64), ROUNDS)
    return table.assign(start_ns=ends.reshape(-1) - durations, dur_ns=durations, launch=launches)


def _in_each_round(positions: Rows, row_count: int) -> Rows:
    """Positions among the host rows of the first round (-1: none), then of all others."""
    of_round = np.arange(ROUNDS)[:, None] * row_count
    return np.where(positions >= 0, positions + of_round, -1).reshape(-1)


def _positions(values: Rows, among: Rows) -> Rows:
    """Where each value stands among the sorted ones; -1 if it does not."""
    if not len(among):
        return np.full(len(values), -1)
    at = np.minimum(np.searchsorted(among, values), len(among) - 1)
    return np.where(among[at] == values, at, -1)
