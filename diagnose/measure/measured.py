"""Metrics: named numbers with a unit and one line of meaning. A metric that cannot
be known is ``Missing``, never zero.

Times are ms per step of the *plain* run: what was recorded without what the profiler added to it
(`diagnose.measure.distortion`), so that the parts add up to the plain step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from diagnose.errors import DiagnoseError
from diagnose.measure.calls import NO_CALLS, call_table
from diagnose.measure.device_steps import host_ahead
from diagnose.measure.distortion import (
    DETAIL_COSTS,
    TIMELINE_COSTS,
    EventCosts,
    PlainTime,
    RecordedEvents,
    detail_time,
    timeline_time,
)
from diagnose.measure.fetches import fetches_in
from diagnose.measure.job import Job
from diagnose.measure.ledger import Ledger
from diagnose.measure.memory_peak import MemoryLook, seen_memory
from diagnose.measure.missing import NO_FACTS, NO_GPU, NOT_RECORDED, ONE_RANK, ONLY_IN_A_RUN, Missing, Unknown
from diagnose.measure.page_faults import kept_away_ms
from diagnose.measure.parts import PartTimes, part_times
from diagnose.measure.processor import Stretches, samples_within, step_stretches
from diagnose.measure.recording import Recording
from diagnose.measure.recurring import Recurring, recurring_work
from diagnose.measure.selection import Selection, Selector
from diagnose.measure.typical import Typical, ordinary, typical
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, once
from diagnose.trace.schema import Trace

Value = float | int | bool | str


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    meaning: str
    value: Callable[[Measured], Value | Missing]


@dataclass(frozen=True)
class FactPlace:
    """A line of the script that a fact is about, and what that costs;
    ``ms_per_step`` is None if no recording can tell.
    """

    file: str
    line: int
    function: str
    count_per_step: float
    ms_per_step: float | None


@dataclass(frozen=True)
class FactSelector:
    """A selector of what no trace holds: its places and costs come from the run's facts."""

    name: str
    meaning: str
    places: Callable[[Measured], list[FactPlace] | Missing]


METRICS: dict[str, Metric] = {}
FACT_SELECTORS: dict[str, FactSelector] = {}


class Measured:
    """A recording with everything computed from it, each thing once."""

    def __init__(self, recording: Recording, job: Job | None = None) -> None:
        """``job``: what all ranks tell together, if this is the recording of one of several."""
        self.recording, self.job = recording, job
        self._values: dict[str, Value | Missing] = {}
        self._rows: dict[str, Rows] = {}
        self._attributed: dict[str, Intervals] = {}
        self.found_once: dict[Callable[..., Any], Any] = {}  # see `once`

    @cached_property
    def timeline(self) -> Selection | None:
        """The view times come from, of the typical steps; None if no complete step was recorded."""
        vary, plain = self.metric("shapes_differ") is True, self._typical_plain
        alike = plain.alike if plain is not None else ordinary
        return self._usable_view(self.recording.timeline, NO_CALLS, None if vary else alike)

    @cached_property
    def detail(self) -> Selection | None:
        """The view source lines come from, of all steps."""
        detail = self.recording.detail
        return self._usable_view(
            detail, call_table(self.recording.calls, detail) if detail is not None else NO_CALLS
        )

    def _usable_view(
        self,
        trace: Trace | None,
        calls: pd.DataFrame,
        chosen: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Selection | None:
        if trace is None:
            return None
        dataflow = self.recording.facts.get("dataflow") or {}
        threads = min(self.number("thread_count"), self.number("cpu_core_count"))
        view = Selection(trace, calls, chosen, dataflow=dataflow, threads=int(threads) if threads >= 1 else 1)
        return view if view.step_count else None

    @cached_property
    def memory(self) -> MemoryLook | None:
        """None where it was not looked at."""
        return seen_memory(self.recording)

    @property
    def ledger(self) -> Ledger | None:
        return self.timeline.ledger if self.timeline else None

    @property
    def framework(self) -> str:
        """Whose recording it is: torch, tensorflow or jax."""
        trace = self.recording.timeline
        return str((trace.info if trace else {}).get("framework", "torch"))

    def metric(self, name: str) -> Value | Missing:
        if name not in self._values:
            try:
                value = METRICS[name].value(self)
            except Unknown as unknown:
                value = unknown.missing
            self._values[name] = self._told(value) if isinstance(value, Missing) else value
        return self._values[name]

    def _told(self, missing: Missing) -> Missing:
        """As for this recording: without an option that would record nothing."""
        if self.recording.is_lone_trace:
            missing, in_vain = missing.in_trace or missing, self.framework != "torch"
        else:
            facts = self.recording.facts
            no_gpu, no_ranks = facts.get("gpu_available") is False, facts.get("process_group", "") is None
            in_vain = (missing == NO_GPU and no_gpu) or (missing == ONE_RANK and no_ranks)
        return replace(missing, option="") if in_vain else missing

    def needed(self, name: str) -> float:
        """The metric as a number, for another metric that is computed from it;
        raises Unknown where it is missing.
        """
        value = self.metric(name)
        if isinstance(value, Missing):
            raise Unknown(value)
        return float(value)

    def number(self, name: str) -> float:
        """The metric as a number; nan where it is missing."""
        value = self.metric(name)
        return float(value) if isinstance(value, (int, float)) else math.nan

    def fact(self, name: str, lacking: Missing = NOT_RECORDED) -> Any:
        """One of facts.json, or Missing: no trace holds it. ``lacking``: why a run may have none."""
        if not self.recording.facts:
            return NO_FACTS
        value = self.recording.facts.get(name)
        return lacking if value is None else value

    def view(self, selector: Selector) -> Selection | None:
        """Where the selector's events are looked for."""
        return self.detail if selector.table == "calls" else self.timeline

    def rows(self, selector: Selector) -> Rows:
        """The selector's rows in its view."""
        if selector.name not in self._rows:
            view = self.view(selector)
            self._rows[selector.name] = selector.rows(view) if view else np.empty(0, np.int64)
        return self._rows[selector.name]

    def attributed(self, selector: Selector) -> Intervals:
        """The time (ns) in its view that depends on the selector's events."""
        if selector.name not in self._attributed:
            view = self.view(selector)
            self._attributed[selector.name] = (
                selector.attributed(view, self.rows(selector)) if view else NO_INTERVALS
            )
        return self._attributed[selector.name]

    def attributed_ms(self, selector: Selector) -> float:
        """That time in ms of the plain step."""
        if self.view(selector) is None:
            return 0.0
        return (
            self.detail_ms(self.attributed(selector))
            if selector.table == "calls"
            else self.timeline_ms(self.attributed(selector))
        )

    @property
    def fetches_per_step(self) -> float:
        """Batches that come per step; 1 where it was not counted (accumulation and GANs fetch otherwise)."""
        return float(self.recording.clock.get("per_step", {}).get("fetch") or 1.0)

    def row_ms(self, row: str) -> float:
        """A row of the ledger in ms of the plain step; all rows together are the plain step.

        0 if the ledger has no such row.
        """
        return self._rows_ms.get(row, 0.0)

    def timeline_ms(self, intervals: Intervals) -> float:
        """Time of the timeline in ms of the plain step; as recorded where no plain step was measured."""
        if self._timeline_time is not None:
            return self._timeline_time.ms(intervals)
        return self.timeline.ms_per_step(intervals) if self.timeline else 0.0

    def detail_ms(self, intervals: Intervals) -> float:
        """Time of the detail phase in ms of the plain step, at most what the timeline
        says of the ledger's rows it lies in.
        """
        return self._detail_time.ms(intervals) if self._detail_time else 0.0

    def plain_ms(self, recorded_ms: float, *, of_input_wait: bool) -> float:
        """A duration on the timeline in ms of the plain step, by its length alone: as the wait
        for input shrinks, or all the rest.
        """
        if self.timeline is None or self.ledger is None:
            return recorded_ms
        rows = [row for row in self.ledger.rows if (row == "input_wait") == of_input_wait]
        whole_ms = sum(self.timeline.ms_per_step(self.ledger.rows[row]) for row in rows)
        return recorded_ms * sum(map(self.row_ms, rows)) / whole_ms if whole_ms > 0 else recorded_ms

    @cached_property
    def _rows_ms(self) -> Mapping[str, float]:
        """The rows of the ledger in ms of the plain step; as recorded where none was measured."""
        if self._timeline_time is not None:
            return self._timeline_time.rows_ms
        return (
            {row: self.timeline.ms_per_step(there) for row, there in self.ledger.rows.items()}
            if self.timeline and self.ledger
            else {}
        )

    @cached_property
    def _timeline_time(self) -> PlainTime | None:
        plain_ms = self.number("plain_step_ms")
        if self.timeline is None or not plain_ms > 0:
            return None
        known_ms = self._timed_rows_ms(plain_ms)
        # Rows that were timed are not disturbed, and tell by themselves how much of the excess is anybody
        # else's.
        slower = None if known_ms else self._detail_events
        events = RecordedEvents(self.timeline, self._timeline_costs)
        return timeline_time(
            events, slower, plain_ms, known_ms or self._fetched_rows_ms(), host_ahead=self.host_ahead
        )

    @cached_property
    def _detail_time(self) -> PlainTime | None:
        if self._detail_events is None:
            return None
        if self.timeline is None:  # its trace was lost
            return timeline_time(self._detail_events, None, self.number("step_ms"), {})
        return detail_time(self._detail_events, self._rows_ms)

    @cached_property
    def _detail_events(self) -> RecordedEvents | None:
        return RecordedEvents(self.detail, DETAIL_COSTS) if self.detail is not None else None

    @property
    def _timeline_costs(self) -> EventCosts:
        """What was measured in the run itself, where it was."""
        measured = self.recording.facts.get("profiler_costs")
        if not measured:
            return TIMELINE_COSTS
        return replace(TIMELINE_COSTS, other=measured["event_ns"] / 1e3, mark=measured["mark_ns"] / 1e3)

    @cached_property
    def _plain_stretches(self) -> Stretches | None:
        steps = step_stretches(
            self.recording.processor, self.recording.phase("plain"), self.recording.ticks_per_step
        )
        return steps and steps.longer_by(1e6 * kept_away_ms(self.recording))

    @cached_property
    def _typical_plain(self) -> Typical | None:
        """The plain steps without delays; until a GPU is through with them where it told."""
        steps = self._plain_stretches
        if steps is None:
            return None
        if self._timed_on_device:
            steps = steps.lasting(self.recording.step_ns("plain"))
        apart = np.zeros(len(steps.wall_ns), bool)
        for work in self.recurring:
            apart[work.steps] = True
        return typical(steps, vary=self.metric("shapes_differ") is True, apart=apart)

    @property
    def _timed_on_device(self) -> bool:
        return bool((self.recording.phase("plain") or {}).get("device_tick_ns"))

    @cached_property
    def recurring(self) -> list[Recurring]:
        """What only some of the plain steps do, costliest first; none where that was not recorded."""
        steps = self._plain_stretches
        return recurring_work(self.recording, steps) if steps is not None else []

    @cached_property
    def plain_steps(self) -> Typical | None:
        """The plain steps, without delays but where a GPU sets the pace; None if there is none."""
        found, steps = self._typical_plain, self._plain_stretches
        if found is None or steps is None:
            return None
        if self._timed_on_device:
            return replace(found, lengths_ns=steps.lasting(self.recording.step_ns("plain")).wall_ns)
        # a GPU does not wait for a delayed thread at once
        return replace(found, lengths_ns=steps.wall_ns) if self.has_gpu else found

    @property
    def delayed_share(self) -> float | Missing:
        """Of the plain steps' time, in which the script's threads were ready to run and had no core."""
        steps = self._plain_stretches
        if steps is None or np.isnan(steps.undelayed_ns).any():
            return Missing(
                "how long the script's threads waited for a core was not recorded", in_trace=ONLY_IN_A_RUN
            )
        return float(1 - steps.undelayed_ns.sum() / steps.wall_ns.sum())

    @property
    def has_gpu(self) -> bool:
        return self.timeline is not None and self.timeline.has_device

    @cached_property
    def host_ahead(self) -> bool:
        """In plain steps the host ran ahead of the GPU, which sets the pace; False where that is not
        known.
        """
        phase, view = self.recording.phase("plain"), self.timeline
        if phase is None or view is None or not view.has_device:
            return False
        launches_per_step = np.count_nonzero(view.device_in_steps) / view.step_count
        return host_ahead(phase, launches_per_step / self.recording.ticks_per_step)

    @property
    def after_session(self) -> bool:
        """Plain steps came after a profiler had recorded a GPU, and the host's calls,
        which that makes dearer, count in them.
        """
        return bool((self.recording.phase("plain") or {}).get("after_session")) and not self.host_ahead

    @cached_property
    def parts(self) -> PartTimes | None:
        """The parts of a step as they were timed; None where they were not, or a GPU computes."""
        phase = self.recording.phase("parts")
        samples = (
            samples_within(self.recording.processor, phase["tick_ns"][0], phase["tick_ns"][-1])
            if phase and not self.has_gpu
            else None
        )
        vary = self.metric("shapes_differ") is True
        return (
            part_times(samples, self.recording.ticks_per_step, vary=vary, plain=self._typical_plain)
            if samples is not None
            else None
        )

    def _timed_rows_ms(self, plain_ms: float) -> dict[str, float]:
        """Rows of the ledger that are parts of a step and were timed as such."""
        if self.parts is None or self.ledger is None:
            return {}
        return {
            row: ms
            for row, ms in self.parts.fitted(plain_ms).items()
            if len(self.ledger.rows.get(row, NO_INTERVALS))
        }

    def _fetched_rows_ms(self) -> dict[str, float]:
        """Rows measured in plain steps: the wait for input where there are no workers, as
        every fetch is timed in every phase.
        """
        wait_ms = (
            self.timeline.ms_per_step(self.ledger.rows.get("input_wait", NO_INTERVALS))
            if self.timeline and self.ledger
            else 0.0
        )
        plain_fetch, recorded_fetch = self.fetch_ms("plain"), self.fetch_ms("timeline")
        is_known = (
            self.metric("loader_worker_count") == 0 and plain_fetch > 0 and recorded_fetch > 0 and wait_ms > 0
        )
        return {"input_wait": wait_ms * plain_fetch / recorded_fetch} if is_known else {}

    def fetch_ms(self, phase_name: str) -> float:
        """Mean time to fetch one of the batches that feed a phase, wherever that happens; nan if there is
        none.
        """
        took_ns = fetches_in(self.recording, phase_name)["dur_ns"].to_numpy()
        return float(took_ns.mean()) / 1e6 if len(took_ns) else math.nan


def metric(
    name: str, unit: str, meaning: str
) -> Callable[[Callable[[Measured], Value | Missing]], Callable[[Measured], Value | Missing]]:
    """Registers a function of a Measured as the metric of that name."""

    def register(function: Callable[[Measured], Value | Missing]) -> Callable[[Measured], Value | Missing]:
        if name in METRICS:
            raise DiagnoseError(f"two metrics are called {name}")
        METRICS[name] = Metric(name, unit, meaning, function)
        return function

    return register


def fact_selector(
    name: str, meaning: str
) -> Callable[
    [Callable[[Measured], list[FactPlace] | Missing]], Callable[[Measured], list[FactPlace] | Missing]
]:
    """Registers a function from a Measured to places as the selector of that name."""

    def register(
        places: Callable[[Measured], list[FactPlace] | Missing],
    ) -> Callable[[Measured], list[FactPlace] | Missing]:
        @once
        def places_or_missing(measured: Measured) -> list[FactPlace] | Missing:
            try:
                return places(measured)
            except Unknown as unknown:
                return unknown.missing

        FACT_SELECTORS[name] = FactSelector(name, meaning, places_or_missing)
        return places

    return register


def fact_metric(name: str, unit: str, meaning: str) -> None:
    """Registers the fact of that name as a metric."""
    metric(name, unit, meaning)(lambda measured: measured.fact(name))
