"""Which lines a loader's workers are at while they fetch, looked at every few milliseconds from a thread
beside them.

No profiler is in a worker. A look costs some tenths of a millisecond of pure Python, which hands its lock
over for it, and next to nothing otherwise; it comes so seldom that all of them take one or two hundredths of
the time (`python -m benchmarks looks`).
"""

from __future__ import annotations

import _thread
import json
import os
from collections import Counter
from time import perf_counter_ns, sleep
from types import CodeType, FrameType
from typing import NamedTuple

from ..guard import guarded
from ..lines.looks import seen_now
from ..places import NOWHERE, Place, Places, library_path
from ..shared_state import SharedState
from .rank_file import RankFile

FILE = "worker_lines.jsonl"
_BYTES_AT_MOST = 4_000_000
_WITHIN_S, _IDLE_S, _WAITS_NS = 0.04, 0.01, 200_000_000
_LOOKS = 500  # after so many the distance of looks doubles, and that of writing


class At(NamedTuple):
    """Where a fetch is: the script's own line, if one is on the stack, and the library's function that it
    calls; else the library's innermost function.
    """

    place: Place
    calls: str


class WorkerLines:
    """`begin` and `ended` around each fetch of a worker, in the thread that fetches."""

    def __init__(self, places: Places, run_folder: str, shared: SharedState) -> None:
        self._places = places
        self._file = RankFile(FILE, run_folder, shared, bytes_at_most=_BYTES_AT_MOST)
        self._forget()

    def _forget(self) -> None:
        self._pid = self._thread = self._due_ns = self._count = 0
        self._fetching = False
        self._fetch: CodeType | None = None
        self._seen: Counter[At] = Counter()

    @guarded("looking at the lines of a worker")
    def begin(self, fetch: CodeType) -> None:
        """``fetch``: whose calls are looked at."""
        if self._pid != os.getpid():
            self._forget()
            self._pid, self._thread, self._fetch = os.getpid(), _thread.get_ident(), fetch
            _thread.start_new_thread(self._look_on, ())
        self._fetching = True

    @guarded("writing the lines of a worker")
    def ended(self) -> None:
        self._fetching = False
        now_ns = perf_counter_ns()
        if now_ns < self._due_ns or not self._seen:
            return
        self._due_ns = now_ns + _WAITS_NS * self._slower
        seen, self._seen = self._seen, Counter()
        lines = [[*at.place, at.calls, count] for at, count in seen.items()]
        told = {"pid": self._pid, "until_ns": now_ns, "lines": lines}
        try:
            goes_on = self._file.append(json.dumps(told).encode() + b"\n")
        except OSError:
            goes_on = False
        if not goes_on:
            self._thread = 0

    def close(self) -> None:
        """In a forked child, or at the end. The thread that looks ends."""
        self._thread = 0
        self._file.close()

    @property
    def _slower(self) -> int:
        return int(2 ** (self._count // _LOOKS))

    @guarded("looking at the lines of a worker")
    def _look_on(self) -> None:
        while self._thread:
            if not self._fetching:
                sleep(_IDLE_S)
            elif (at := seen_now(self._thread, self._at, _WITHIN_S * self._slower)) is not None:
                self._seen[at] += 1
                self._count += 1

    def _at(self, frame: FrameType | None) -> At | None:
        """None outside of a fetch."""
        place, calls, innermost = NOWHERE, "", ""
        while frame is not None and frame.f_code is not self._fetch:
            code = frame.f_code
            file = self._places.user_file(code.co_filename)
            if place is NOWHERE:
                if file:
                    place = Place(file, frame.f_lineno or -1, code.co_name)
                else:
                    calls = f"{library_path(code.co_filename)}: {code.co_name}"
                    innermost = innermost or calls
            frame = frame.f_back
        if frame is None:
            return None
        return At(place, calls if place is not NOWHERE else innermost)
