"""What the recorded steps would take with changes made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diagnose.judge.left import Outcome
from diagnose.measure.areas.workers import packing_ms
from diagnose.measure.ledger import DEVICE_ROWS
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, Selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows
from diagnose.predict.device_lanes import DeviceLanes, device_lanes
from diagnose.predict.edits import Events, events_of
from diagnose.predict.loading import Loading, fetch_series_ms
from diagnose.predict.on_average import Seldom, saved_ms
from diagnose.predict.recorded import host_windows, recorded_graph
from diagnose.predict.replay import Edit, Pace, Replay
from diagnose.predict.retiming import left_by_roofline
from diagnose.trace.intervals import covered_before, intersect, total

LARGEST_ERROR = 0.05  # of a step: a replay that misses the recording by more has not understood it
MOST_EVENTS = 3_000  # of the device in one graph: a plan is to take no longer than reading the trace
MOST_CHECKED = 3  # steps replayed as they are, around the median one
# from the first step to the last: more comes from damaged times, and overflows when it is replayed
LONGEST_NS = 24 * 3600 * 10**9
DECIMALS = 9  # of replayed ms: what arithmetic leaves of a difference is no gain
LEAST_HELD = 0.01  # of the mean step's part of a row: with less, steps count as having nothing of it
CONTIGUOUS_NS = 1_000_000  # steps with less than this between them follow each other
ADVISED_WORKERS = 2  # where the number that hides the loading is not known (rules/input-wait-no-workers.toml)
NOT_TOLD = (
    "replaying the recorded steps misses them by {error:.0f} %: they waited for something that was not "
    "recorded"
)


@dataclass(frozen=True)
class Change:
    """A fix as a replay sees it: edits of the recorded work, worker processes for the loader (None: as
    many as there are) and how well they turn out, or of what only some steps have.
    """

    edits: tuple[Edit, ...] = ()
    workers: int | None = None
    outcome: Outcome = "guess"
    seldom: Seldom | None = None


def saved_on_average_ms(changes: Iterable[Change]) -> float:
    """By those of what only some steps have, ms of the average step."""
    return saved_ms(change.seldom for change in changes if change.seldom is not None)


class Prediction:
    """Replays of a recording's steps, in ms of the plain step."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self._events: dict[str, Events] = {}
        self._replays: dict[tuple[int, int], Replay] = {}  # by begin and end of the steps, ns
        self._left: dict[tuple[str, tuple[str, str]], tuple[np.ndarray, np.ndarray]] = {}
        self._steady: dict[
            tuple[int, ...], tuple[list[Change], list[Edit], float]
        ] = {}  # by the changes' identities, which are kept

    @cached_property
    def impossible(self) -> Missing | None:
        """What a replay needs and the recording does not hold; None if it holds all."""
        view = self.measured.timeline
        if view is None:
            return Missing("no complete step was recorded", "--steps")
        if view.trace.training_thread < 0:
            return Missing("the trace holds no host events", "activities=[ProfilerActivity.CPU, …]")
        if view.has_device and not (view.device["launch"] >= 0).any():
            return Missing("no launch of a GPU event was recorded")
        if int(view.windows[-1, 1]) - int(view.windows[0, 0]) > LONGEST_NS:
            return Missing("the times in this trace are those of no recording")
        return None

    @cached_property
    def missing(self) -> Missing | None:
        """Why nothing can be predicted; None if it can."""
        if self.error is not None and self.error > LARGEST_ERROR:
            return Missing(NOT_TOLD.format(error=100 * self.error))
        return self.impossible

    def errors(self, most: int) -> list[float]:
        """How far the replay of a complete step ends from the recording, 0-1 of the step; of so
        many at most, those around the median.
        """
        median = _median_step(self._windows)
        first = max(0, min(median - most // 2, len(self._windows) - most))
        return [
            self._replay_of(int(begin), int(end), 1).error()
            for begin, end in self._windows[first : first + most]
        ]

    @cached_property
    def error(self) -> float | None:
        """The median of the steps'; None without a replay."""
        return None if self.impossible else float(np.median(self.errors(MOST_CHECKED)))

    @cached_property
    def recorded_ms(self) -> float:
        """The steady step as it is."""
        return self.step_ms()

    def step_ms(self, changes: Iterable[Change] = ()) -> float:
        """A steady step with all these changes made, less what they gain of the average step only."""
        changes = list(changes)
        return self.steady(changes)[1] - saved_on_average_ms(changes)

    def steady(self, changes: Iterable[Change] = ()) -> tuple[list[Edit], float]:
        """The edits to replay for these changes, and the step: longer than that replay where it
        waits for worker processes besides.
        """
        changes = list(changes)
        which = tuple(map(id, changes))
        if which not in self._steady:
            self._steady[which] = changes, *self._steady_with(changes)
        _, edits, step_ms = self._steady[which]
        return edits, step_ms

    def loaded_ns(self, changes: Iterable[Change]) -> float:
        """The step of the recording with all these changes made as far as the loader allows; 0 where it
        holds nothing up.
        """
        edits, step_ms = self.steady(changes)
        return step_ms / self.scale if step_ms > self._replayed_ms(edits) else 0.0

    def _steady_with(self, changes: list[Change]) -> tuple[list[Edit], float]:
        edits = [edit for change in changes for edit in change.edits]
        step_ms = self._replayed_ms(edits)
        loaders = [change for change in changes if change.workers is not None]
        loading = self._loading
        if loading is None or not (loaders or self._floor_ms):
            return edits, step_ms
        rest = [*edits, self._without_wait]
        rest_ms = self._replayed_ms(rest)
        wait_ms = step_ms - rest_ms  # what is edited in the wait itself is loading that takes less
        if loaders:
            asked = max(loaders, key=lambda change: change.workers or 0)
            left = min(1.0, wait_ms / self._wait_ms) if self._wait_ms > 0 else 1.0
            loaded_ms = (
                loading.step_ms(rest_ms, asked.workers, left, asked.outcome)
                if asked.workers
                else loading.inline_ms(rest_ms, self._worker_count, asked.outcome)
            )
            return (rest, loaded_ms) if loaded_ms < step_ms else (edits, step_ms)
        # Workers that limit the step go on doing so.
        return rest, max(rest_ms, self._floor_ms - (self._wait_ms - wait_ms))

    def events_of(self, selector: Selector) -> Events:
        """The selector's events, found once."""
        if selector.name not in self._events:
            self._events[selector.name] = events_of(selector, self.measured)
        return self._events[selector.name]

    def left_by_roofline(
        self, selector: str, rows: Rows, formats: tuple[str, str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `diagnose.predict.retiming`; found once for the rows of a selector."""
        if (selector, formats) not in self._left:
            self._left[selector, formats] = left_by_roofline(self._view, rows, formats)
        return self._left[selector, formats]

    def host_ms(self, intervals: Intervals) -> float:
        """What the training thread's work inside the intervals (ns) takes of the steady step."""
        return self.recorded_ms - self._replayed_ms(
            [Edit(host=intervals, lane=self._view.trace.training_thread)]
        )

    @cached_property
    def limit_ms(self) -> float | None:
        """The steady step if the host took no time at all: what the GPU's work takes; None without a GPU."""
        return self._replayed_ms(self._no_host) if self._view.has_device else None

    def least_ms(self, edits: Iterable[Edit], *, host: bool) -> float | None:
        """The steady step without any of the GPU's events that are edited, and if ``host`` with a host that
        takes no time; None without a GPU.
        """
        if not self._view.has_device:
            return None
        gone = [
            Edit(events=edit.events, held=edit.held) for edit in edits if len(edit.events) or len(edit.held)
        ]
        if not gone:
            return self.limit_ms if host else self.recorded_ms
        return self._replayed_ms([*gone, *(self._no_host if host else ())])

    @cached_property
    def _no_host(self) -> list[Edit]:
        view = self._view
        whole = np.array([[view.host_windows[0, 0], view.host_windows[-1, 1]]])
        lanes = np.unique(self.replay.graph.edges.lane)
        calls = np.unique(self.replay.graph.edges.wait)
        return [
            Edit(unblocked=calls[calls >= 0]),
            *(Edit(host=whole, lane=int(lane)) for lane in lanes if lane >= 0),
        ]

    # ---- the replay

    @property
    def _view(self) -> Selection:
        assert self.measured.timeline is not None
        return self.measured.timeline

    @cached_property
    def _lanes(self) -> DeviceLanes:
        return device_lanes(self._view)

    @cached_property
    def _windows(self) -> Intervals:
        return host_windows(self._view, self._lanes)

    @cached_property
    def _chosen(self) -> tuple[int, int]:
        view = self._view
        events_per_step = len(view.device) / max(len(view.trace.steps), 1)
        return _chosen_steps(self._windows, view.ledger.rows, events_per_step)

    @cached_property
    def replay(self) -> Replay:
        """Of as many steps as a graph may hold, those most like all, in their steady state; a single step
        that was another (a start, or what does not repeat) as it was.
        """
        first, last = self._chosen
        begin_ns, end_ns = int(self._windows[first, 0]), int(self._windows[last, 1])
        steady = self._replay_of(begin_ns, end_ns, last - first + 1)
        once = self._view.step_count == 1 and abs(steady.step_ns() / self._view.step_ns - 1) > LARGEST_ERROR
        return steady.paced(self._paces(), self._view.step_ns if once else None)

    def _replay_of(self, begin_ns: int, end_ns: int, step_count: int) -> Replay:
        """Found once: of few steps the one that is checked is the one that is replayed."""
        if (begin_ns, end_ns) not in self._replays:
            graph = recorded_graph(self._view, self._lanes, begin_ns, end_ns, step_count)
            self._replays[begin_ns, end_ns] = Replay(graph, self._view.device["dur_ns"].to_numpy())
        return self._replays[begin_ns, end_ns]

    @property
    def replayed_windows(self) -> Intervals:
        """The replayed steps as recorded, on the host's clock, ns."""
        first, last = self._chosen
        return self._windows[first : last + 1]

    def _paces(self) -> list[Pace]:
        """How fast the host works in each row of the ledger without the profiler, and for the replayed steps
        to hold as much of the row as all steps do; where it does not hold the GPU up as recorded.
        """
        measured, view, replayed = self.measured, self._view, self.replayed_windows
        as_recorded = isinstance(measured.metric("plain_step_ms"), Missing)
        if as_recorded and len(replayed) == len(self._windows):
            return []
        held_ms = {
            row: total(intersect(intervals, replayed)) / len(replayed) / 1e6
            for row, intervals in view.ledger.rows.items()
            if row not in DEVICE_ROWS
        }
        return [(view.ledger.rows[row], measured.row_ms(row) / ms) for row, ms in held_ms.items() if ms > 0]

    @cached_property
    def scale(self) -> float:
        """ms of the step ÷ ns of the replayed one."""
        return self.measured.number("step_ms") / self.replay.step_ns()

    def _replayed_ms(self, edits: Sequence[Edit]) -> float:
        return round(self.replay.step_ns(edits) * self.scale, DECIMALS)

    # ---- the loader

    @cached_property
    def _without_wait(self) -> Edit:
        return Edit(
            host=self._view.ledger.rows.get("input_wait", NO_INTERVALS), lane=self._view.trace.training_thread
        )

    @cached_property
    def _wait_ms(self) -> float:
        return self._replayed_ms([]) - self._replayed_ms([self._without_wait])

    @cached_property
    def _loading(self) -> Loading | None:
        """None where nothing waits for a loader or too little is known of it."""
        measured = self.measured
        if not len(self._without_wait.host):
            return None
        fetch_ms, cores = fetch_series_ms(measured.recording, "plain"), measured.number("cpu_core_count")
        if (
            not measured.recording.facts
        ):  # somebody else's trace tells only what the main process fetched itself
            fetch_ms, cores = self._fetched_in_main_ms(), float("inf")
        if not fetch_ms or not cores > 0:
            return None
        held = measured.metric("prefetch_factor")
        return Loading(
            fetch_ms,
            measured.fetches_per_step,
            self._fetch_cpu_ms(fetch_ms),
            _or(measured.number("available_cores"), cores),
            computing_cores=_or(measured.number("computing_cores"), 1.0),
            parallel=_or(measured.number("parallel_share"), 0.0),
            spot_ms=_or(measured.number("loading_on_the_spot_ms"), 0.0),
            handover_ms=_or(measured.number("handover_ms"), 0.0),
            packing_ms=packing_ms(measured),
            prefetch=Loading.prefetch if isinstance(held, Missing) else int(held),
        )

    def _fetch_cpu_ms(self, fetch_ms: Sequence[float]) -> float:
        """Processor time of a step's fetches; all their time where it is not known how much they wait."""
        busy = self.measured.number("fetch_busy_share")
        return float(np.mean(fetch_ms)) * self.measured.fetches_per_step * _or(busy, 1.0)

    @property
    def _worker_count(self) -> int:
        return int(_or(self.measured.number("loader_worker_count"), 0.0))

    def _fetched_in_main_ms(self) -> tuple[float, ...]:
        view = self._view
        rows = view.named(view.name_matches(r"^enumerate\(DataLoader\)#_SingleProcess"))
        return tuple((view.host["dur_ns"].to_numpy()[rows] / 1e6).tolist())

    def enough_workers(self) -> int:
        """Worker processes that hide the loading: the suggested number, or those that are advised where
        nothing tells it; 0 if nothing is known of the loading.
        """
        suggested = self.measured.metric("suggested_workers")
        if not isinstance(suggested, Missing):
            return int(suggested)
        return ADVISED_WORKERS if self._loading is not None else 0

    @cached_property
    def _floor_ms(self) -> float:
        """The step that the worker processes there are allow, which is the recorded one if they hold
        it up; 0 if not, or there are none.
        """
        if self._loading is None or not self._worker_count:
            return 0.0
        step_ms = self._replayed_ms([])
        held_up = self._loading.queue_ms(0.0, self._worker_count) > step_ms - self._wait_ms
        return step_ms if held_up else 0.0


def _or(number: float, otherwise: float) -> float:
    """The number, or the other one where it is not known (nan)."""
    return number if np.isfinite(number) else otherwise


def _median_step(windows: Intervals) -> int:
    return int(np.argsort(windows[:, 1] - windows[:, 0], kind="stable")[(len(windows) - 1) // 2])


def _chosen_steps(
    windows: Intervals, rows: Mapping[str, Intervals], events_per_step: float
) -> tuple[int, int]:
    """First and last of the steps that follow each other and fit one graph: of those as many as can be, the
    ones that hold about as much of each row of the ledger as the mean step.

    Of a row that can be paced to its mean (`Prediction._paces`) by how much counts; nothing of it is worst.
    """
    most = max(1, int(MOST_EVENTS / max(events_per_step, 1)))
    begins_run = np.append(True, windows[1:, 0] - windows[:-1, 1] > CONTIGUOUS_NS)
    place = np.arange(len(windows)) - np.flatnonzero(begins_run)[np.cumsum(begins_run) - 1]
    count = min(most, int(place.max()) + 1)
    lasts = np.flatnonzero(place >= count - 1)
    firsts = lasts - count + 1
    apart_ns = np.zeros(len(lasts))
    for row, intervals in rows.items():
        held_ns = covered_before(intervals, windows[:, 1]) - covered_before(intervals, windows[:, 0])
        mean_ns = held_ns.mean()
        if mean_ns > 0:
            sums_ns = np.append(0, np.cumsum(held_ns))
            times = (sums_ns[lasts + 1] - sums_ns[firsts]) / count / mean_ns
            is_paced = row not in (*DEVICE_ROWS, "host_sync")
            apart_ns += mean_ns * np.abs(np.log(np.maximum(times, LEAST_HELD)) if is_paced else times - 1)
    chosen = int(np.argmin(apart_ns))
    return int(firsts[chosen]), int(lasts[chosen])
