"""A view: one trace, cut to its complete steps, with the questions selectors and the ledger ask of it."""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from diagnose.measure.device_steps import busiest_first, device_windows
from diagnose.trace.columns import among
from diagnose.trace.intervals import as_intervals, intersect, total, union
from diagnose.trace.quirks import ITERATOR_NEXT, LOADER_NEXT, OPTIMIZER_STEP
from diagnose.trace.schema import Trace

Rows = np.ndarray  # positions in a table, int64
Intervals = np.ndarray  # int64 ns, shape (n, 2)

LAST_CHARACTER = "\U0010ffff"

Found = TypeVar("Found")

NO_INTERVALS: Intervals = np.empty((0, 2), np.int64)
NO_ROWS: Rows = np.empty(0, np.int64)


class View:
    """One trace and the windows that count. All times int64 ns.

    ``windows``: the complete steps, which begin and end later than on the host where it runs ahead of a GPU
    (`device_steps`). What the host does counts where it belongs to a step, by ``host_windows``; what a GPU
    does, and the ledger, by ``windows``.

    ``chosen``: which complete steps those are, given how long each took; all of them without it.
    ``complete_ns``: how long every complete step took.
    """

    def __init__(self, trace: Trace, chosen: Callable[[np.ndarray], np.ndarray] | None = None) -> None:
        self.trace = trace
        self.host = trace.host
        self.device = trace.device
        windows = device_windows(trace)
        self.complete_ns = np.diff(windows).reshape(-1)
        self.chosen = chosen(self.complete_ns) if chosen else np.ones(len(windows), bool)
        self.host_windows = trace.complete_steps[self.chosen]
        self.windows = windows[self.chosen]
        self.step_count = len(self.windows)
        self.found_once: dict[Callable[..., Any], Any] = {}  # see `once`

    @property
    def is_whole_trace(self) -> bool:
        """Nothing tells steps apart, so that all of the recording counts as one."""
        return self.trace.step_source == "whole trace"

    @cached_property
    def has_device(self) -> bool:
        return len(self.device) > 0

    @cached_property
    def has_shapes(self) -> bool:
        return bool((self.host["shapes"] != "").any())

    @cached_property
    def devices(self) -> list[int]:
        """Ordinals of the devices that did anything, busiest first."""
        return busiest_first(self.device)

    @cached_property
    def step_ns(self) -> float:
        """Mean duration of the complete steps; nan without one."""
        return float(np.mean(self.windows[:, 1] - self.windows[:, 0])) if self.step_count else float("nan")

    @cached_property
    def span(self) -> Intervals:
        """The complete steps as one set of intervals."""
        return union(self.windows)

    @cached_property
    def host_span(self) -> Intervals:
        """The same on the host."""
        return union(self.host_windows)

    @cached_property
    def kind(self) -> pd.Categorical:
        return self.host["kind"].array

    @cached_property
    def name(self) -> pd.Categorical:
        return self.host["name"].array

    @cached_property
    def _name_codes(self) -> np.ndarray:
        """As positions, which arrays are looked up by: said once instead of for every pattern."""
        return self.name.codes.astype(np.intp)

    @cached_property
    def on_training_thread(self) -> np.ndarray:
        return self.host["tid"].to_numpy() == self.trace.training_thread

    @cached_property
    def in_steps(self) -> np.ndarray:
        """Which host events start inside a complete step."""
        return started_in(self.host, self.host_span)

    @cached_property
    def device_in_steps(self) -> np.ndarray:
        return started_in(self.device, self.span)

    @property
    def operators_in_complete_steps(self) -> np.ndarray:
        """How many operators began in each, chosen or not."""
        starts_ns = np.sort(self.host["start_ns"].to_numpy()[self.kind == "op"])
        return np.diff(np.searchsorted(starts_ns, self.trace.complete_steps), axis=1).reshape(-1)

    @property
    def host_step_ns(self) -> float:
        """Mean time in which the host hands a complete step over; nan without one."""
        return float(np.diff(self.host_windows).mean()) if self.step_count else float("nan")

    def named(self, test: pd.Series | np.ndarray) -> Rows:
        """Positions of the host events inside complete steps for which ``test`` holds."""
        return np.flatnonzero(np.asarray(test) & self.in_steps)

    def name_matches(self, pattern: str) -> np.ndarray:
        """Which host events have a name that matches the regular expression (tested once per distinct name,
        of which the answers are kept: those of the events would be most of the memory).
        """
        return _matching(_Categories(self.name.categories), pattern)[self._name_codes]

    def marked(self, *names: str) -> np.ndarray:
        """Which host events are the recorder's own marks of these names."""
        return np.asarray(self.kind == "mark") & among(self.name, names)

    @cached_property
    def loader_next(self) -> np.ndarray:
        """Which host events fetch the loader's next batch: our marks, torch's ranges in them, and
        what takes it from tf.data.
        """
        return self.marked("next") | self.name_matches(f"^({re.escape(LOADER_NEXT)}|{ITERATOR_NEXT}$)")

    @cached_property
    def optimizer_steps(self) -> np.ndarray:
        """Which host events are an optimizer's step: our marks, and torch's ranges around them."""
        return self.marked("optimizer") | self.name_matches(f"^{re.escape(OPTIMIZER_STEP)}")

    def once_each(self, calls: np.ndarray) -> Rows:
        """Of these events inside complete steps our marks, else torch's ranges: both would count a call
        twice.
        """
        marks = self.named(calls & np.asarray(self.kind == "mark"))
        return marks if len(marks) else self.named(calls)

    def host_intervals(self, rows: Rows) -> Intervals:
        return self.clipped(self.host, rows)

    def device_intervals(self, rows: Rows) -> Intervals:
        return self.clipped(self.device, rows)

    def clipped(self, table: pd.DataFrame, rows: Rows) -> Intervals:
        """Union of the rows' intervals inside complete steps."""
        start, dur = table["start_ns"].to_numpy()[rows], table["dur_ns"].to_numpy()[rows]
        return intersect(
            union(as_intervals(start, dur)), self.span if table is self.device else self.host_span
        )

    def ms_per_step(self, intervals: Intervals) -> float:
        """Length of the intervals per complete step, ms of the recorded (not the plain) step."""
        return total(intervals) / self.step_count / 1e6

    def least_share(self, intervals: Intervals) -> float:
        """The intervals' share of the step that holds least of them: what every step pays,
        whatever delayed some; nan without a step.

        Steps that took no time are left out: while a GPU is behind, those in which nothing
        was launched end with the one before.
        """
        lasting = self.windows[self.windows[:, 1] > self.windows[:, 0]]
        shares = [total(intersect(intervals, window[None])) / (window[1] - window[0]) for window in lasting]
        return float(min(shares, default=float("nan")))

    def outermost_ops(self, rows: Rows) -> Rows:
        """For each host event the outermost operator around it, or itself if there is none."""
        return self._outermost_ops[rows]

    @cached_property
    def _outermost_ops(self) -> Rows:
        """Of all host events: half of the selectors ask for some."""
        parent, is_op = self.host["parent"].to_numpy(), np.asarray(self.kind == "op")
        found = np.arange(len(parent), dtype=np.int32)
        climbing = np.flatnonzero(parent >= 0)
        around = parent[climbing]
        while len(climbing):
            inside_op = is_op[around]
            found[climbing[inside_op]] = around[inside_op]
            around = parent[around]
            climbing, around = climbing[around >= 0], around[around >= 0]
        return found


def once(function: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """The function of a view, or of all that is measured, computed once for each: several ask for it."""

    @functools.wraps(function)
    def found(view: Any) -> Found:
        if function not in view.found_once:
            view.found_once[function] = function(view)
        return view.found_once[function]

    return found


def started_in(table: pd.DataFrame, span: Intervals) -> np.ndarray:
    """Which rows of the table start inside the (sorted, disjoint) intervals."""
    return lies_in(table["start_ns"].to_numpy(), span)


def lies_in(times: np.ndarray, span: Intervals) -> np.ndarray:
    """Which times (ns) lie inside the (sorted, disjoint) intervals."""
    if not len(span):
        return np.zeros(len(times), bool)
    slot = np.searchsorted(span[:, 0], times, side="right") - 1
    return (slot >= 0) & (times < span[np.maximum(slot, 0), 1])


def category_matches(values: pd.Categorical, pattern: str) -> np.ndarray:
    """Which of the values match the regular expression (tested once per distinct value)."""
    return _matching(_Categories(values.categories), pattern)[values.codes]


def test_at(values: pd.Categorical, rows: Rows, test: Callable[[str], bool]) -> np.ndarray:
    """For which of these rows the test holds of the value (tried once per distinct value there)."""
    used, which = np.unique(values.codes[rows], return_inverse=True)
    return np.array([test(values.categories[code]) for code in used.tolist()], bool)[which]


@dataclass(frozen=True, eq=False)
class _Categories:
    """Equal if they are the same object."""

    index: pd.Index[Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Categories) and self.index is other.index

    def __hash__(self) -> int:
        return id(self.index)


@functools.lru_cache(maxsize=1024)
def _matching(categories: _Categories, pattern: str) -> np.ndarray:
    """Of each category, and False for the code -1, which stands for no value."""
    texts, position = _sorted_texts(categories)
    prefix, found = _prefix(pattern), np.zeros(len(texts) + 1, bool)
    first, last = bisect_left(texts, prefix), bisect_right(texts, prefix + LAST_CHARACTER)
    if first == last:
        return found  # and the pattern need not be compiled
    search = re.compile(pattern).search
    found[position[first:last]] = [search(text) is not None for text in texts[first:last]]
    return found


@functools.lru_cache(maxsize=8)
def _sorted_texts(categories: _Categories) -> tuple[list[str], np.ndarray]:
    """And where each stands among the categories."""
    texts: list[str] = categories.index.tolist()
    position = sorted(range(len(texts)), key=texts.__getitem__)
    return [texts[place] for place in position], np.array(position, np.intp)


def _prefix(pattern: str) -> str:
    """What every text that matches begins with, as far as it is plain to see."""
    plain, depth = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "", pattern), 0  # without escapes and classes
    for character in plain:
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            return ""
    literal = re.match(r"\^([\w:]+)(?![?*{])", pattern)
    return literal[1] if literal else ""
