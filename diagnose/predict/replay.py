"""Replaying a graph: when everything happens if every edge takes as long as an edit leaves it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows, lies_in
from diagnose.predict.graph import NEVER, Graph
from diagnose.predict.stretches import Clockwork
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import intersect

Pace = tuple[Intervals, float]
Line = tuple[str, int]  # file, number

# the first two fill the GPU's queue as the steps before would have; the mean of the last two is a steady step
ROUNDS = 4
STEADY_ROUNDS = 2


@dataclass(frozen=True)
class Edit:
    """What a change does to the recorded work: host work inside ``host`` (ns, of the thread ``lane``) takes
    ``host_ratio`` of its time, the device rows ``events`` take ``event_ratio`` (one, or one each) of theirs,
    the calls ``unblocked`` (host rows) no longer wait, and the device rows ``held`` are held up by an idle
    device for ``held_ratio`` of the time. ``lines``: of the script, whose work is meant, if that is known;
    ``inner_lines``: those that run while they do. ``in_proportion``: no recording says which work that is,
    and so it is taken from all inside ``host``. ``of_what_is_left``: all work goes faster, that which other
    edits leave.
    """

    host: Intervals = field(default_factory=lambda: NO_INTERVALS)
    lane: int = -1
    host_ratio: float = 0.0
    lines: frozenset[Line] = frozenset()
    inner_lines: frozenset[Line] = frozenset()
    in_proportion: bool = False
    of_what_is_left: bool = False
    events: Rows = field(default_factory=lambda: NO_ROWS)
    event_ratio: np.ndarray | float = 0.0
    unblocked: Rows = field(default_factory=lambda: NO_ROWS)
    held: Rows = field(default_factory=lambda: NO_ROWS)
    held_ratio: float = 0.0


class Replay:
    """A graph ready to be replayed. ``durations_ns``: of the device rows. ``paces``: how fast the host works
    inside some intervals (ns) without the profiler, as the ratio of plain to recorded time; they hold for
    every step but not for the replay of the recording itself. ``once_ns``: how long the steps were, if they
    are to be replayed once, from where the recording begins; else round after round, until they are steady.
    """

    def __init__(
        self, graph: Graph, durations_ns: np.ndarray, paces: Sequence[Pace] = (), once_ns: float | None = None
    ) -> None:
        self.graph = graph
        self.once_ns = once_ns
        self.durations_ns = durations_ns
        self._event_ns = np.append(durations_ns, 0).astype(np.float64)  # the last is that of no event
        self._paces = paces
        edges = graph.edges
        # the ends of all lanes: the slowest makes the steady step
        self._tails = distinct(edges.source[edges.carried])
        self._clockwork = Clockwork(graph)

    def paced(self, paces: Sequence[Pace], once_ns: float | None) -> Replay:
        """Of the same graph, with other paces."""
        if not paces and once_ns == self.once_ns:
            return self
        paced = copy.copy(self)
        paced.__dict__.pop("_recorded_step_ns", None)
        paced._paces, paced.once_ns = paces, once_ns
        return paced

    def error(self) -> float:
        """How far the replayed recording ends from the recorded one, on the host or on both lanes,
        whichever is more; 0-1 of the steps.
        """
        graph = self.graph
        times = self._clockwork.times(self._delays((), ()), graph.before_ns, 1)[0]
        replayed, recorded = (
            np.append(values[graph.ends], values.max()) for values in (times, graph.recorded_ns)
        )
        return float(np.abs(replayed - recorded).max() / graph.span_ns)

    def step_ns(self, edits: Sequence[Edit] = ()) -> float:
        """A steady step with the edits made, ns, never negative.

        Both lanes count: the host alone hides a backlog of the GPU.
        """
        if not edits:
            return self._recorded_step_ns
        return self._step_ns(edits)

    @cached_property
    def _recorded_step_ns(self) -> float:
        return self._step_ns(())

    def _step_ns(self, edits: Sequence[Edit]) -> float:
        begin_ns, end_ns = self.steady_ns(self.rounds_ns(edits))
        return (end_ns - begin_ns) / STEADY_ROUNDS / self.graph.step_count

    def steady_ns(self, rounds_ns: np.ndarray) -> tuple[float, float]:
        """Begin and end of the steady rounds on the lane that takes longest for them, ns."""
        if self.once_ns is not None:  # all lanes take as long: a step is what it is on the host
            begin, end = rounds_ns[[-STEADY_ROUNDS - 1, -1], self.graph.ends[0]]
            return float(begin), float(end)
        begins, ends = rounds_ns[-STEADY_ROUNDS - 1, self._tails], rounds_ns[-1, self._tails]
        slowest = int(np.argmax(ends - begins))
        return float(begins[slowest]), float(max(begins[slowest], ends[slowest]))

    def rounds_ns(self, edits: Sequence[Edit] = ()) -> np.ndarray:
        """When each node happens with the edits made, ns; a row a round."""
        if self.once_ns is not None:
            return self._same_rounds_ns(self.once_ns, edits)
        before = np.full(len(self.graph), NEVER)
        before[self.graph.ends] = 0.0
        return self._clockwork.times(self._delays(edits, self._paces), before, ROUNDS)

    def _same_rounds_ns(self, recorded_ns: float, edits: Sequence[Edit]) -> np.ndarray:
        """Rounds that begin as the recording does, each where the one before is over on all lanes."""
        times = self._clockwork.times(self._delays(edits, self._paces), self.graph.before_ns, 1)[0]
        length_ns = max(0.0, recorded_ns + times.max() - self.graph.recorded_ns.max())
        return np.asarray(times + length_ns * np.arange(ROUNDS)[:, None])

    def event_ns(self, edits: Sequence[Edit] = ()) -> np.ndarray:
        """How long each device row takes with the edits made; the last is that of no event."""
        return self._event_ns * self._event_ratios(edits)

    def _event_ratios(self, edits: Sequence[Edit]) -> np.ndarray:
        """What the edits leave of each device row's time; the last is that of no event."""
        ratio = np.ones(len(self._event_ns))
        for edit in edits:
            if not edit.of_what_is_left:
                ratio[edit.events] = np.minimum(ratio[edit.events], edit.event_ratio)
        for edit in edits:
            if edit.of_what_is_left:
                ratio[edit.events] *= edit.event_ratio
        return ratio

    def clock(self, lane: int, edits: Sequence[Edit] = ()) -> Callable[[np.ndarray], np.ndarray]:
        """From recorded moments of a thread to how far its work has come then with the edits made, ns."""
        return self._clock_of(lane, edits, self._paces)

    def _clock_of(
        self, lane: int, edits: Sequence[Edit], paces: Sequence[Pace]
    ) -> Callable[[np.ndarray], np.ndarray]:
        return _clock(self._span, paces, [edit for edit in edits if edit.lane == lane])

    @cached_property
    def _span(self) -> Intervals:
        """The host work of all edges lies inside, ns: the steps replayed, not all that were recorded."""
        edges = self.graph.edges
        on_host = edges.lane >= 0
        if not on_host.any():
            return NO_INTERVALS
        return np.array([[edges.from_ns[on_host].min(), edges.to_ns[on_host].max()]])

    def _delays(self, edits: Sequence[Edit], paces: Sequence[Pace]) -> np.ndarray:
        """What each edge takes, ns; `NEVER` where it no longer holds."""
        edges = self.graph.edges
        unblocked = np.zeros(int(edges.wait.max(initial=-1)) + 2, bool)
        for edit in edits:
            unblocked[edit.unblocked[edit.unblocked < len(unblocked) - 1]] = True
        ratios = self._event_ratios(edits)
        event_ns = self._event_ns * ratios
        # and with it the gap or the latency before it
        gone = (ratios == 0)[edges.event] & (edges.event >= 0)
        still_held = np.ones(len(event_ns))
        for edit in edits:
            still_held[edit.held] = np.minimum(still_held[edit.held], edit.held_ratio)
        delays = np.where(gone, 0.0, edges.const_ns + event_ns[edges.event])
        delays += edges.held_ns * still_held[edges.event]
        delays += self._host_work(edits, paces)
        return np.where(unblocked[edges.wait], NEVER, delays)

    def _host_work(self, edits: Sequence[Edit], paces: Sequence[Pace]) -> np.ndarray:
        """The host work of each edge, ns."""
        edges = self.graph.edges
        work = (edges.to_ns - edges.from_ns).astype(np.float64)
        for lane in (
            np.unique(edges.lane[edges.lane >= 0]).tolist() if paces else {edit.lane for edit in edits}
        ):
            mine = np.flatnonzero(edges.lane == lane)
            clock = self._clock_of(lane, edits, paces)
            work[mine] = clock(edges.to_ns[mine]) - clock(edges.from_ns[mine])
        return work


def _clock(
    span: Intervals, paces: Sequence[Pace], edits: Sequence[Edit]
) -> Callable[[np.ndarray], np.ndarray]:
    """From recorded to edited time: inside the intervals time runs at the ratio of the paces and of the edits
    (`_together`). Of times in the ``span``.
    """
    paced = [intersect(intervals, span) for intervals, _ in paces]
    hosts = [intersect(edit.host, span) for edit in edits]
    borders = distinct(NO_INTERVALS, *paced, *hosts)
    if not len(borders):
        return lambda times: times
    plain = np.ones(len(borders) + 1)  # before each border, and behind the last
    for (_, ratio), intervals in zip(paces, paced, strict=True):
        plain[np.append(False, lies_in(borders, intervals))] *= ratio
    ratios = np.ones((len(edits), len(plain)))
    for number, (edit, host) in enumerate(zip(edits, hosts, strict=True)):
        ratios[number, np.append(False, lies_in(borders, host))] = edit.host_ratio
    quick = np.array([edit.of_what_is_left for edit in edits], bool)
    others = [edit for edit in edits if not edit.of_what_is_left]
    pace = plain * _together(others, ratios[~quick]) * ratios[quick].prod(axis=0)
    at_border = np.concatenate(([0.0], np.cumsum(pace[1:-1] * np.diff(borders))))

    def clock(times: np.ndarray) -> np.ndarray:
        piece = np.searchsorted(borders, times, side="right")
        nearest = np.maximum(piece - 1, 0)
        return np.asarray(at_border[nearest] + (times - borders[nearest]) * pace[piece])

    return clock


def _together(edits: Sequence[Edit], ratios: np.ndarray) -> np.ndarray:
    """What all edits leave of each piece of time. ``ratios``: what each leaves of it. What edits in
    proportion save adds up if they mean different lines, and to what is saved elsewhere; at least half is
    left of what would be if each worked on what the others leave. Of what may be the same work the smallest
    ratio holds.
    """
    spread = [number for number, edit in enumerate(edits) if edit.in_proportion]
    known = [number for number in range(len(edits)) if number not in spread]
    beside = [
        number
        for number in known
        if edits[number].lines and not any(_mean_the_same(edits[number], edits[other]) for other in spread)
    ]
    groups = [group for group in (beside, *_of_the_same_lines(edits, spread)) if group]
    left = np.array([ratios[group].min(axis=0) for group in groups]).reshape(-1, ratios.shape[1])
    at_least = left.prod(axis=0) / (2 if len(groups) > 1 else 1)
    together = np.maximum(1 - (1 - left).sum(axis=0), at_least)
    return np.vstack([together, ratios[[number for number in known if number not in beside]]]).min(axis=0)


def _of_the_same_lines(edits: Sequence[Edit], numbers: Sequence[int]) -> list[list[int]]:
    """The numbers of the edits that mean the same lines."""
    groups: list[list[int]] = []
    for number in numbers:
        joined = [
            group for group in groups if any(_mean_the_same(edits[number], edits[other]) for other in group)
        ]
        groups = [group for group in groups if group not in joined]
        groups.append(sorted([number, *(other for group in joined for other in group)]))
    return groups


def _mean_the_same(edit: Edit, other: Edit) -> bool:
    """The same lines, or one's run inside the other's, directly or over others; unknown ones may."""
    if not edit.lines or not other.lines:
        return True
    return bool(edit.lines & (other.lines | other.inner_lines) or edit.inner_lines & other.lines)
