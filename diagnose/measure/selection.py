"""A selection: a view with what several selectors share; and what a selector is.

A selector is a named set of events. One selector serves a rule's evidence, its culprits and its
saving, so they cannot drift apart. It gives rows of the host or the device table, or of the calls
the user's own lines made, and the time that is at stake because of them. Three metrics follow from
each: ``<selector>_ms``, ``<selector>_share`` and ``<selector>_count_per_step``. The selectors
themselves are in `diagnose.measure.areas`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from diagnose.measure.calls import NO_CALLS
from diagnose.measure.ledger import (
    BUSY_ROWS,
    Ledger,
    after_sync,
    by_threads,
    dispatching_threads,
    is_sync_call,
    step_ledger,
)
from diagnose.measure.loops import row_loops
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, View, started_in
from diagnose.trace.intervals import intersect, union
from diagnose.trace.schema import Trace

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Selection(View):
    """A view with what several selectors share, worked out once. ``calls``: see `diagnose.measure.calls`;
    ``dataflow``: what the run's look at the dataflow told, if there was one; ``threads``: how many compute an
    operator on the processor, one where nobody has told.
    """

    def __init__(
        self,
        trace: Trace,
        calls: pd.DataFrame = NO_CALLS,
        chosen: Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        dataflow: Mapping[str, Any] = NOTHING,
        threads: int = 1,
    ) -> None:
        super().__init__(trace, chosen)
        self.calls, self._dataflow, self.threads = calls, dataflow, threads

    @cached_property
    def free_cells(self) -> frozenset[tuple[str, int]]:
        """Lines that lead to recurrent cells whose inputs do not depend on their outputs."""
        return frozenset((cell["file"], cell["line"]) for cell in self._dataflow.get("free_cells") or [])

    @cached_property
    def rows_looked_up(self) -> dict[tuple[int, ...], int]:
        """Of embedding tables, by shape: different rows that a step looks up, where they were counted."""
        return {tuple(told["table"]): told["rows"] for told in self._lookups}

    @cached_property
    def tied_tables(self) -> set[tuple[int, ...]]:
        """Shapes of embedding tables that were seen to be used otherwise, too."""
        return {tuple(told["table"]) for told in self._lookups if told["is_tied"]}

    def sparse_updates_ns(self, optimizer: str) -> dict[tuple[int, ...], int]:
        """Of tables, by shape, what a sparse gradient and its update by this optimizer took, as tried."""
        tried = {tuple(told["table"]): told.get("sparse_ns") for told in self._lookups}
        return {table: ns[optimizer] for table, ns in tried.items() if ns}

    @property
    def _lookups(self) -> list[dict[str, Any]]:
        return self._dataflow.get("lookups") or []

    @cached_property
    def ledger(self) -> Ledger:
        return step_ledger(self)

    @cached_property
    def idle(self) -> Intervals:
        """The busiest device's idle time inside complete steps."""
        return union(
            np.concatenate(
                [part for row, part in self.ledger.rows.items() if row not in BUSY_ROWS] or [NO_INTERVALS]
            )
        )

    @cached_property
    def sync_calls(self) -> Rows:
        return self.named(is_sync_call(self) & dispatching_threads(self))

    @cached_property
    def copies_by_call(self) -> dict[int, int]:
        """Outermost copying op (host row) → the device row of a host-to-device copy launched below it."""
        upload = (self.device["direction"] == "HtoD").to_numpy() & self.device_in_steps
        launch = self.device["launch"].to_numpy()
        rows = np.flatnonzero(upload & (launch >= 0))
        return dict(zip(self.outermost_ops(launch[rows]).tolist(), rows.tolist(), strict=True))

    @cached_property
    def calls_in_steps(self) -> np.ndarray:
        """Which calls start inside a complete step."""
        return started_in(self.calls, self.host_span)

    @cached_property
    def in_library_work(self) -> np.ndarray:
        """Which host events start inside the optimizer's step or the loader's
        `__next__`: not the script's own doing.
        """
        inside = self.optimizer_steps | self.loader_next
        return started_in(self.host, self.host_intervals(np.flatnonzero(inside)))

    def of_the_script(self, rows: Rows) -> Rows:
        """Those of these host events that are neither of a backward nor library work."""
        return rows[~self.host["backward"].to_numpy()[rows] & ~self.in_library_work[rows]]

    @cached_property
    def row_loops(self) -> list[Rows]:
        own = (self.kind == "op") & self.on_training_thread & self.in_steps & ~self.in_library_work
        return row_loops(self, np.flatnonzero(own))

    def syncs_below(self, callers: Rows) -> Rows:
        """The sync calls whose outermost operator is one of these."""
        return self.sync_calls[self.is_among(callers)[self.outermost_ops(self.sync_calls)]]

    def is_among(self, rows: Rows) -> np.ndarray:
        """Which host events are these."""
        among = np.zeros(len(self.host), bool)
        among[rows] = True
        return among

    def sync_idle(self, calls: Rows) -> Intervals:
        """Idle time the ledger files under host sync that follows from these calls."""
        if "host_sync" not in self.ledger.rows:
            return NO_INTERVALS
        claimed = [NO_INTERVALS]
        for on_threads, idle in by_threads(self, self.devices[0], self.idle):
            explaining = calls[on_threads[calls]]
            claimed += [intersect(idle, self.host_intervals(explaining)), after_sync(self, idle, explaining)]
        return intersect(self.ledger.rows["host_sync"], union(np.concatenate(claimed)))


Table = Literal["host", "device", "calls"]
# "formats": shapes and types, or names of kernels that tell which number format they compute in; "work": host
# events or a device's
Need = Literal["host", "device", "shapes", "formats", "work", "calls"]


@dataclass(frozen=True)
class Selector:
    """``rows(view)``: positions in ``table``. ``attributed(view, rows)``: the intervals (ns) inside
    complete steps that depend on them.

    Calls are looked for in the detail phase, everything else on the timeline.
    """

    name: str
    table: Table
    meaning: str
    needs: Need  # what the recording must hold for "none found" to mean something
    rows: Callable[[Selection], Rows]
    attributed: Callable[[Selection, Rows], Intervals]


SELECTORS: dict[str, Selector] = {}


def selector(
    name: str,
    meaning: str,
    *,
    table: Table = "host",
    needs: Need | None = None,
    attributed: Callable[[Selection, Rows], Intervals] | None = None,
) -> Callable[[Callable[[Selection], Rows]], Callable[[Selection], Rows]]:
    """Registers a function from a view to rows as the selector of that name; ``attributed``
    is the rows' own time if not given.
    """

    def register(rows: Callable[[Selection], Rows]) -> Callable[[Selection], Rows]:
        SELECTORS[name] = Selector(name, table, meaning, needs or table, rows, attributed or _OWN_TIME[table])
        return rows

    return register


def _host_time(view: Selection, rows: Rows) -> Intervals:
    return view.host_intervals(rows)


def _device_time(view: Selection, rows: Rows) -> Intervals:
    """Time in which these device events run, as far as the ledger counts it as busy."""
    shown = [view.ledger.rows[row] for row in BUSY_ROWS if row in view.ledger.rows]
    return intersect(view.device_intervals(rows), np.concatenate(shown or [NO_INTERVALS]))


def _call_time(view: Selection, rows: Rows) -> Intervals:
    return view.clipped(view.calls, rows)


_OWN_TIME: dict[str, Callable[[Selection, Rows], Intervals]] = {
    "host": _host_time,
    "device": _device_time,
    "calls": _call_time,
}


def ledger_row(row: str) -> Callable[[Selection, Rows], Intervals]:
    """The attributed time is a row of the ledger, whole."""
    return lambda view, rows: view.ledger.rows.get(row, NO_INTERVALS)
