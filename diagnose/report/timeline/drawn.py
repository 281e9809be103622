"""One step to draw: where its host and GPU events lie, as recorded or as a replay leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from diagnose.measure.device_steps import LATENCY
from diagnose.measure.ledger import dispatching_threads, step_ledger
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.view import NO_ROWS, Intervals, Rows, View
from diagnose.predict.new_ledger import Moved, Replayed, moments_of_last_round
from diagnose.predict.prediction import Prediction
from diagnose.predict.replay import ROUNDS, STEADY_ROUNDS
from diagnose.report.timeline.fetching import worker_fetches
from diagnose.trace.intervals import as_intervals, clip, total


class Spans(NamedTuple):
    """Events: the table's row of each, and when it begins and ends, ns."""

    row: Rows
    start_ns: np.ndarray
    end_ns: np.ndarray

    def between(self, begin_ns: float, end_ns: float) -> Spans:
        """What lies between two moments, cut off there and counted from the
        first; events of no length are left out.
        """
        start, end = np.maximum(self.start_ns, begin_ns), np.minimum(self.end_ns, end_ns)
        some = start < end
        return Spans(self.row[some], start[some] - begin_ns, end[some] - begin_ns)

    def later(self, by_ns: float) -> Spans:
        return Spans(self.row, self.start_ns + by_ns, self.end_ns + by_ns)


NO_SPANS = Spans(NO_ROWS, NO_ROWS, NO_ROWS)


@dataclass(frozen=True)
class DrawnStep:
    """A step, ns from its beginning. ``fetches``: of worker processes, rows of
    `Recording.fetches`. ``causes``: the ledger's rows.

    ``wait_ns``: a wait for worker processes at its beginning, which no replay holds. ``is_ahead``: the host
    is, of the GPU; what it does is drawn from the step's beginning on, though the GPU runs it later.
    """

    length_ns: float
    host: Spans
    device: Spans
    causes: Mapping[str, Intervals]
    fetches: Spans = NO_SPANS
    wait_ns: float = 0.0
    is_ahead: bool = False


# ---- as recorded


def recorded_step(measured: Measured) -> DrawnStep | None:
    """The recorded complete step of median length; None without a complete step."""
    view = measured.timeline
    if view is None:
        return None
    lengths = view.windows[:, 1] - view.windows[:, 0]
    median = np.argsort(lengths, kind="stable")[(len(lengths) - 1) // 2]
    (begin, end), (host_begin, host_end) = view.windows[median].tolist(), view.host_windows[median].tolist()
    host_end = min(host_end, host_begin + end - begin)
    rows = np.flatnonzero(dispatching_threads(view)) if len(view.host) else NO_ROWS
    return DrawnStep(
        length_ns=end - begin,
        host=_spans(view.host, rows).between(host_begin, host_end),
        device=_spans(view.device, np.arange(len(view.device))).between(begin, end),
        causes={row: clip(there, begin, end) - begin for row, there in view.ledger.rows.items()},
        fetches=Spans(*worker_fetches(measured.recording)).between(host_begin, host_end),
        is_ahead=bool(end > host_end),
    )


def _spans(table: pd.DataFrame, rows: Rows) -> Spans:
    start, dur = table["start_ns"].to_numpy()[rows], table["dur_ns"].to_numpy()[rows]
    return Spans(rows, start, start + dur)


# ---- as a replay leaves it


class ReplayedSteps:
    """The steps of a replay's last round, one of which is drawn."""

    def __init__(self, prediction: Prediction, replayed: Replayed) -> None:
        assert prediction.measured.timeline is not None
        self._prediction, self._replayed = prediction, replayed
        self._view: Selection = prediction.measured.timeline
        self._moved: Moved = moments_of_last_round(
            prediction.replay, replayed, self._view.trace.training_thread
        )
        self.wait_ns = replayed.wait_ms / prediction.scale
        on_host = self._moved(prediction.replayed_windows.astype(np.float64))
        self._host_begins = on_host[:, 0]
        self.is_ahead = self._runs_ahead()
        self.windows = self._windows_on_device() if self.is_ahead else on_host

    @property
    def lengths_ns(self) -> np.ndarray:
        return self.windows[:, 1] - self.windows[:, 0] + self.wait_ns

    def drawn(self, step: int, *, with_fetches: bool) -> DrawnStep:
        """``with_fetches``: those that were recorded, where the training
        thread does what it did during each.
        """
        begin, end = self.windows[step]
        host_begin, causes = self._host_begins[step], self._causes(round(begin), round(end))
        shift = self.wait_ns
        if shift:
            shifted = {row: there + round(shift) for row, there in causes.items()}
            causes = {
                **shifted,
                "input_wait": np.concatenate([as_intervals(0, round(shift)), shifted["input_wait"]]),
            }
        return DrawnStep(
            length_ns=end - begin + shift,
            host=self._host(step, begin, end).later(shift),
            device=_labelled(self._replayed.view.device).between(begin, end).later(shift),
            causes=causes,
            fetches=self._fetches(step).between(host_begin, host_begin + end - begin).later(shift)
            if with_fetches
            else NO_SPANS,
            wait_ns=shift,
            is_ahead=self.is_ahead,
        )

    def _host(self, step: int, begin: float, end: float) -> Spans:
        table = self._replayed.view.host
        if not self.is_ahead:
            return _labelled(table).between(begin, end)
        of_last_round = slice(len(table) // ROUNDS * (ROUNDS - 1), None)
        host_begin = self._host_begins[step]
        host_end = self._moved(self._prediction.replayed_windows[step, 1:].astype(np.float64))[0]
        return _labelled(table, of_last_round).between(host_begin, min(host_end, host_begin + end - begin))

    def _fetches(self, step: int) -> Spans:
        begin, end = self._prediction.replayed_windows[step].tolist()
        fetches = Spans(*worker_fetches(self._prediction.measured.recording)).between(begin, end)
        return Spans(fetches.row, self._moved(fetches.start_ns + begin), self._moved(fetches.end_ns + begin))

    def _causes(self, begin: int, end: int) -> dict[str, Intervals]:
        trace = self._replayed.view.trace
        window = replace(trace, steps=trace.steps.assign(start_ns=begin, end_ns=end))
        return {row: there - begin for row, there in step_ledger(View(window)).rows.items()}

    def _runs_ahead(self) -> bool:
        """Whether the host takes less for the steady rounds than the GPU, or did when it was recorded."""
        if not np.array_equal(self._view.windows, self._view.host_windows):
            return True
        host_ns = np.diff(
            self._replayed.rounds_ns[[-STEADY_ROUNDS - 1, -1], self._prediction.replay.graph.ends[0]]
        )[0]
        return self._view.has_device and bool(LATENCY * host_ns < total(self._replayed.ledger.span))

    def _windows_on_device(self) -> np.ndarray:
        """A step is over when the GPU is done with all that was launched in it and before."""
        edges, rounds_ns = self._prediction.replay.graph.edges, self._replayed.rounds_ns
        is_event = edges.event >= 0
        ends, launched = rounds_ns[-1, edges.target[is_event]], self._launched_ns()[edges.event[is_event]]
        begin = rounds_ns[-2, edges.target[is_event]].max()
        done = [
            ends[launched < step_end].max(initial=begin)
            for step_end in self._prediction.replayed_windows[:-1, 1]
        ]
        borders = np.maximum.accumulate([begin, *done, ends.max()])
        return np.stack([borders[:-1], borders[1:]], axis=1)

    def _launched_ns(self) -> np.ndarray:
        """Of each device row; of one whose launch is not known that of the
        latest launched of those before it.
        """
        launch = self._view.device["launch"].to_numpy()
        known = np.where(launch >= 0, self._view.host["start_ns"].to_numpy()[launch], 0)
        return np.where(launch >= 0, known, np.maximum.accumulate(known))


def _labelled(table: pd.DataFrame, part: slice = slice(None)) -> Spans:
    """A table whose labels are the recording's rows."""
    start, dur = table["start_ns"].to_numpy()[part], table["dur_ns"].to_numpy()[part]
    return Spans(table.index.to_numpy()[part], start, start + dur)
