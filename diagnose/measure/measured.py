"""Metrics: named numbers with a unit and one line of meaning. A metric that cannot be known is ``Missing``, never zero.

Times are ms per step of the *plain* run: what the timeline measured, scaled by plain ÷ timeline step time, because the profiler
slows what it measures.
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
from diagnose.measure.view import Rows

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

NO_STEPS = Missing("no complete step was recorded", "--steps, or a longer run")
NO_BORDERS = Missing("the trace marks no steps, so nothing can be counted per step", "profiler.step() in the loop")
NO_GPU = Missing("no GPU in this recording", "--device cuda, on a machine with a GPU")
NO_SHAPES = Missing("input shapes were not recorded", "record with record_shapes=True")
NO_HOST = Missing("the trace holds no host events", "record with ProfilerActivity.CPU")


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
    def scale(self) -> float:
        """Plain ÷ timeline step time; 1 where no plain phase was recorded."""
        plain, recorded = self.number("plain_step_ms"), self.number("timeline_step_ms")
        return plain / recorded if plain > 0 and recorded > 0 else 1.0


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
