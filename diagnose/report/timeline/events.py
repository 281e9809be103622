"""Drawn steps as columns of events: lanes, depths, names, places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from diagnose.document.blame import blamed
from diagnose.judge.rules import Rule
from diagnose.measure.measured import Measured
from diagnose.measure.sources import Sources
from diagnose.measure.view import Rows
from diagnose.report.timeline.drawn import DrawnStep, Spans
from diagnose.trace.cleaning import clean

MOST_EVENTS = 20_000  # of a version
LONGEST_NAME = 200  # characters
WAITING = "waiting for a worker process"
FETCHING = "fetching a batch"
MARKS = {
    "next": "next batch",
    "iter": "making the loader's iterator",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimizer step",
    "gc": "garbage collection",
    "index": "tensor as an index",
}
METHODS = ("item", "tolist", "cpu", "numpy", "to", "cuda", "nonzero", "synchronize")
TICK = "tick"  # the recorder's own border between steps


class Texts:
    """Texts with a number each, in order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def all(self) -> list[str]:
        return list(self._numbers)

    def number(self, text: str) -> int:
        return self._numbers.setdefault(clean(text, LONGEST_NAME), len(self._numbers))

    def numbers(self, codes: np.ndarray, text_of: Callable[[int], str]) -> np.ndarray:
        """The texts' numbers; that of a code below 0 is -1."""
        distinct, at = np.unique(codes, return_inverse=True)
        return np.array(
            [-1 if code < 0 else self.number(text_of(code)) for code in distinct.tolist()], np.int64
        )[at]


@dataclass(frozen=True)
class Columns:
    """A value an event; times in ns from the step's beginning, place and finding -1 where there is none."""

    lane: np.ndarray
    start: np.ndarray
    end: np.ndarray
    name: np.ndarray
    place: np.ndarray
    finding: np.ndarray

    def __len__(self) -> int:
        return len(self.lane)

    def at(self, chosen: np.ndarray) -> Columns:
        return Columns(*(getattr(self, field.name)[chosen] for field in fields(self)))


class Drawing:
    """What the drawn steps of a recording share: lanes, names, places, and who blames what."""

    def __init__(
        self, measured: Measured, sources: Sources, planned: Sequence[Rule], steps: Sequence[DrawnStep]
    ) -> None:
        assert measured.timeline is not None
        self._view, self._sources, self._fetches = measured.timeline, sources, measured.recording.fetches
        self._host_finding, self._device_finding = blamed(measured, planned)
        self._names, self._places = Texts(), Texts()
        self._shown = self._shown_on_host(steps)
        tids = np.unique(
            np.concatenate([self._view.host["tid"].to_numpy()[self._host_rows(step)] for step in steps])
        )
        self._tids = sorted(tids.tolist(), key=lambda tid: (tid != self._view.trace.training_thread, tid))
        self._pids = np.unique(
            np.concatenate([self._fetches["pid"].to_numpy()[step.fetches.row] for step in steps])
        ).tolist()
        key = self._view.device[["device", "stream"]].to_numpy()
        self._streams, self._stream = np.unique(key, axis=0, return_inverse=True)
        self._stream = self._stream.reshape(-1)
        self._drawn_streams = np.unique(
            np.concatenate([self._stream[step.device.row] for step in steps])
        ).tolist()

    @property
    def names(self) -> list[str]:
        return self._names.all

    @property
    def places(self) -> list[str]:
        return self._places.all

    @property
    def lanes(self) -> list[dict[str, str]]:
        threads = [{"title": self._thread(tid), "kind": "host"} for tid in self._tids]
        workers = [{"title": f"Loader worker {pid}", "kind": "loader"} for pid in self._pids]
        streams = [self._streams[number].tolist() for number in self._drawn_streams]
        return [
            *threads,
            *workers,
            *({"title": f"GPU {device}, stream {stream}", "kind": "stream"} for device, stream in streams),
        ]

    def events(self, step: DrawnStep) -> tuple[dict[str, list[Any]], dict[str, Any]]:
        """The picture's ``events`` and ``left_out``."""
        parts = [self._host(step), self._workers(step), self._device(step), *self._wait(step)]
        columns, left_out = _longest(
            Columns(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Columns)))
        )
        columns = columns.at(np.lexsort((-columns.end, columns.start, columns.lane)))
        start_us, end_us = (np.round(times / 1000, 3) for times in (columns.start, columns.end))
        events = {
            "lane": columns.lane.tolist(),
            "depth": _depths(columns, len(self._tids)),
            "start": start_us.tolist(),
            "dur": np.round(end_us - start_us, 3).tolist(),
            "name": columns.name.tolist(),
            "place": columns.place.tolist(),
            "finding": columns.finding.tolist(),
        }
        return events, left_out

    # ---- lanes

    def _thread(self, tid: int) -> str:
        trace = self._view.trace
        if tid == trace.training_thread:
            return "Training thread"
        title = clean(trace.threads.get(tid, f"thread {tid}"), LONGEST_NAME)
        return title[:1].upper() + title[1:]

    def _shown_on_host(self, steps: Sequence[DrawnStep]) -> np.ndarray:
        """Which host rows are drawn: Python frames only where there is nothing else."""
        view = self._view
        shown = np.asarray((view.kind != "python") & ~(view.marked(TICK)))
        return shown if any(shown[step.host.row].any() for step in steps) else np.ones(len(view.host), bool)

    def _host_rows(self, step: DrawnStep) -> Rows:
        return step.host.row[self._shown[step.host.row]]

    # ---- events

    def _host(self, step: DrawnStep) -> Columns:
        spans = Spans(*(column[self._shown[step.host.row]] for column in step.host))
        by_tid = np.full(max(self._tids, default=0) + 1, -1)
        by_tid[self._tids] = np.arange(len(self._tids))
        lane = by_tid[self._view.host["tid"].to_numpy()[spans.row]]
        name, place, finding = (
            self._host_names(spans.row),
            self._placed(spans.row),
            self._host_finding[spans.row],
        )
        return Columns(lane, spans.start_ns, spans.end_ns, name, place, finding)

    def _host_names(self, rows: Rows) -> np.ndarray:
        names, is_mark = self._view.name, np.asarray(self._view.kind == "mark")[rows]
        categories = names.categories
        return self._names.numbers(
            names.codes[rows].astype(np.int64) * 2 + is_mark,
            lambda code: _mark_name(str(categories[code // 2])) if code % 2 else str(categories[code // 2]),
        )

    def _device(self, step: DrawnStep) -> Columns:
        spans, device = step.device, self._view.device
        lane = (
            len(self._tids) + len(self._pids) + np.searchsorted(self._drawn_streams, self._stream[spans.row])
        )
        names = device["name"].array
        name = self._names.numbers(names.codes[spans.row], lambda code: str(names.categories[code]))
        op, launch = (device[column].to_numpy()[spans.row] for column in ("op", "launch"))
        place = self._placed(np.where(op >= 0, op, launch))
        return Columns(lane, spans.start_ns, spans.end_ns, name, place, self._device_finding[spans.row])

    def _workers(self, step: DrawnStep) -> Columns:
        spans = step.fetches
        lane = len(self._tids) + np.searchsorted(self._pids, self._fetches["pid"].to_numpy()[spans.row])
        none = np.full(len(lane), -1)
        name = np.full(len(lane), self._names.number(FETCHING) if len(lane) else -1)
        return Columns(lane.astype(np.int64), spans.start_ns, spans.end_ns, name, none, none)

    def _wait(self, step: DrawnStep) -> list[Columns]:
        if not step.wait_ns:
            return []
        loads = np.flatnonzero(self._view.marked("next"))[:1]
        place = self._placed(loads) if len(loads) else np.array([-1])
        zero, none = np.zeros(1, np.int64), np.array([-1])
        return [
            Columns(
                zero, zero, np.array([step.wait_ns]), np.array([self._names.number(WAITING)]), place, none
            )
        ]

    def _placed(self, rows: Rows) -> np.ndarray:
        """The places of host rows (-1: of none)."""
        host = self._view.host
        file, line = (
            host["file"].array,
            host["line"].to_numpy()[rows].astype(np.int64) if len(host) else np.full(len(rows), -1),
        )
        known = (rows >= 0) & (line >= 0)
        code = np.where(known, file.codes[rows].astype(np.int64) << 32 | line, -1) if len(host) else line
        files = file.categories
        return self._places.numbers(
            code, lambda code: f"{self._sources.shown(str(files[code >> 32]))}:{code & 0xFFFFFFFF}"
        )


def _mark_name(kind: str) -> str:
    if kind in METHODS:
        return f".{kind}()"
    return MARKS.get(kind, f"{kind}(tensor)")


def _longest(columns: Columns) -> tuple[Columns, dict[str, Any]]:
    """As many events as a picture may hold, and what is missing."""
    if len(columns) <= MOST_EVENTS:
        return columns, {"count": 0, "shorter_than_us": 0.0}
    length = columns.end - columns.start
    kept = np.argpartition(-length, MOST_EVENTS)[:MOST_EVENTS]
    return columns.at(kept), {
        "count": len(columns) - MOST_EVENTS,
        "shorter_than_us": round(float(length[kept].min()) / 1000, 3),
    }


def _depths(columns: Columns, host_lanes: int) -> list[int]:
    """How many events of the same host lane are still open when each begins; 0 on other lanes.

    Events are sorted by lane and start.
    """
    depths: list[int] = []
    lane_before, open_until = -1, list[float]()
    for lane, start, end in zip(
        columns.lane.tolist(), columns.start.tolist(), columns.end.tolist(), strict=True
    ):
        if lane != lane_before or lane >= host_lanes:
            lane_before = lane
            open_until.clear()
        while open_until and open_until[-1] <= start:
            open_until.pop()
        depths.append(len(open_until))
        open_until.append(end)
    return depths
