"""Metrics: named numbers with a unit and one line of meaning. A metric that cannot be known is ``Missing``, never zero.

Times are ms per step of the *plain* run: what the timeline measured, scaled so that the parts add up to the plain step, because the
profiler slows what it measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diagnose.errors import DiagnoseError
from diagnose.measure.ledger import Ledger
from diagnose.measure.recording import Recording
from diagnose.measure.selectors import Selection, Selector
from diagnose.measure.view import NO_INTERVALS, Rows

Value = float | int | bool | str


@dataclass(frozen=True)
class Missing:
    """Why a number cannot be known, and the option that would record it."""

    reason: str
    option: str = ""


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    meaning: str
    value: Callable[[Measured], Value | Missing]


METRICS: dict[str, Metric] = {}

NO_STEPS = Missing("no complete step was recorded", "--steps")
NO_BORDERS = Missing("the trace marks no steps, so nothing can be counted per step", "profiler.step() in the loop")
NO_GPU = Missing("no GPU in this recording", "--device cuda")
NO_SHAPES = Missing("input shapes were not recorded", "record_shapes=True")
NO_HOST = Missing("the trace holds no host events", "activities=[ProfilerActivity.CPU, …]")


class Measured:
    """A recording with everything computed from it, each thing once."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._values: dict[str, Value | Missing] = {}
        self._rows: dict[str, Rows] = {}

    @cached_property
    def timeline(self) -> Selection | None:
        """The view times come from; None if no complete step was recorded."""
        return _usable_view(self.recording.timeline)

    @cached_property
    def detail(self) -> Selection | None:
        """The view source lines come from."""
        return _usable_view(self.recording.detail)

    @property
    def ledger(self) -> Ledger | None:
        return self.timeline.ledger if self.timeline else None

    def metric(self, name: str) -> Value | Missing:
        if name not in self._values:
            self._values[name] = METRICS[name].value(self)
        return self._values[name]

    def number(self, name: str) -> float:
        """The metric as a number; nan where it is missing."""
        value = self.metric(name)
        return float(value) if isinstance(value, (int, float)) else math.nan

    def rows(self, selector: Selector) -> Rows:
        """The selector's rows on the timeline."""
        if selector.name not in self._rows:
            self._rows[selector.name] = selector.rows(self.timeline) if self.timeline else np.empty(0, np.int64)
        return self._rows[selector.name]

    @property
    def fetches_per_step(self) -> float:
        """Batches fetched per step; 1 where it was not counted (accumulation and GANs fetch otherwise)."""
        return float(self.recording.clock.get("per_step", {}).get("fetch") or 1.0)

    @cached_property
    def distortion(self) -> float:
        """Timeline ÷ plain step time; 1 where no plain phase was recorded."""
        plain, recorded = self.number("plain_step_ms"), self.number("timeline_step_ms")
        return recorded / plain if plain > 0 and recorded > 0 else 1.0

    def row_ms(self, row: str) -> float:
        """A row of the ledger in ms of the plain step; all rows together are the plain step. 0 if the ledger has no such row."""
        if self.timeline is None or self.ledger is None or row not in self.ledger.rows:
            return 0.0
        return self.plain_ms(self.timeline.ms_per_step(self.ledger.rows[row]), of_input_wait=row == "input_wait")

    def plain_ms(self, recorded_ms: float, *, of_input_wait: bool) -> float:
        """Timeline ms in ms of the plain step. Loading in the main process suffers most from a profiler, so it has a scale of its own."""
        return recorded_ms * self._scales[0 if of_input_wait else 1]

    @cached_property
    def _scales(self) -> tuple[float, float]:
        """Plain ÷ timeline: for input wait, from the fetch times measured in both phases where there are no workers; for all the rest."""
        whole = 1 / self.distortion
        wait = self.timeline.ms_per_step(self.ledger.rows.get("input_wait", NO_INTERVALS)) if self.timeline and self.ledger else 0.0
        plain_fetch, recorded_fetch = self.fetch_ms("plain"), self.fetch_ms("timeline")
        if not (self.metric("loader_worker_count") == 0 and plain_fetch > 0 and recorded_fetch > 0 and wait > 0):
            return whole, whole
        step, plain_step, own = self.number("timeline_step_ms"), self.number("step_ms"), plain_fetch / recorded_fetch
        rest = (plain_step - wait * own) / (step - wait) if step > wait else 0.0
        return (own, rest) if rest > 0 else (whole, whole)

    def fetch_ms(self, phase_name: str) -> float:
        """Mean time to fetch one batch during a phase, wherever that happens; nan if none was fetched."""
        phase, fetches = self.recording.phase(phase_name), self.recording.fetches
        if phase is None:
            return math.nan
        start = fetches["start_ns"].to_numpy()
        inside = (start >= phase["tick_ns"][0]) & (start < phase["tick_ns"][-1])
        return float(fetches["dur_ns"].to_numpy()[inside].mean()) / 1e6 if inside.any() else math.nan


def _usable_view(trace: Any) -> Selection | None:
    view = Selection(trace) if trace is not None else None
    return view if view is not None and view.step_count else None


def metric(name: str, unit: str, meaning: str) -> Callable[[Callable[[Measured], Value | Missing]], Callable[[Measured], Value | Missing]]:
    """Registers a function of a Measured as the metric of that name."""

    def register(function: Callable[[Measured], Value | Missing]) -> Callable[[Measured], Value | Missing]:
        if name in METRICS:
            raise DiagnoseError(f"two metrics are called {name}")
        METRICS[name] = Metric(name, unit, meaning, function)
        return function

    return register
