"""Watches the steps of a run to its end, without a profiler.

The thread that trains only writes down when each step ended and how long it waited for each batch. All else
is done a few times a second in a thread beside it: which line runs, what a window's steps took, whether they
have become slower.
"""

from __future__ import annotations

import _thread
from collections import Counter, deque
from collections.abc import Callable
from threading import RLock, get_ident, get_native_id
from time import perf_counter_ns, time
from typing import Any

import torch

from ..facts.garbage import CollectorCallback
from ..guard import guarded
from ..lines.line_samples import stack_now
from ..places import Places
from ..source.epochs import StepsLeft
from .batches import Batches
from .changes import AVERAGE, TYPICAL, Change, Changes
from .counters import Reader, between
from .windows import LINES_AT_MOST, SLOW, SLOW_AT_MOST, WatchFile, Window, step_times

_LOOKS_EVERY_S = 0.05
_ASKS_EVERY_NS = 250_000_000
_WINDOWS_OF_PACE = 20  # the last ones, for the time that is left
_EVENTS_AT_MOST = 100_000  # of a window
_STACKS_AT_MOST = 500  # different ones
_LEVEL_WINDOWS = 9  # whose median says what a usual step takes
_AVERAGED_S = 20.0  # for the average step


class Watch:
    """`begin` and `tick` in the thread that trains, `end` in any.

    ``period``: ticks a step. ``slower``: called from beside, when steps have become slower for good.
    """

    def __init__(
        self,
        folder: str,
        places: Places,
        period: int,
        first_tick: int,
        tell: Callable[[str], None],
        slower: Callable[[Change], None],
    ) -> None:
        """Raises OSError."""
        self._file = WatchFile(folder)
        self._places, self._period, self._tell, self._slower = places, period, tell, slower
        self._ticks = first_tick
        self._ends: deque[int] = deque(maxlen=_EVENTS_AT_MOST)  # of steps, ns
        self._batches = Batches(_EVENTS_AT_MOST)
        self._waits = self._batches.waits
        self._pauses: deque[tuple[int, int]] = deque(maxlen=_EVENTS_AT_MOST)  # of the collector: begin, ns
        self._looks: deque[tuple[int, int]] = deque(maxlen=_EVENTS_AT_MOST)  # when, which stack
        self._stacks: dict[tuple[Any, ...], int] = {}
        self._left, self._steps_left = StepsLeft(places), 0.0
        self._wants_left = True
        self._pace: deque[tuple[float, int]] = deque(maxlen=_WINDOWS_OF_PACE)  # seconds, steps
        self._samples = 0  # until the last window
        self._collector = CollectorCallback(self._collecting)
        self._pause_ns = 0
        self._usual: deque[float] = deque(maxlen=_LEVEL_WINDOWS)  # median steps of the last windows, ms
        self._typical, self._average = Changes(TYPICAL), Changes(AVERAGE)
        self._averaged: list[Window] = []  # since the last average
        self._running = self._paused = False
        self._windowing = RLock()  # a signal may come in the midst of a window, and end the run

    # in the thread that trains

    def begin(self) -> None:
        self._thread = get_ident()
        self._left.begin()
        self._batches.install()
        self._collector.install()
        self._reader = Reader(get_native_id())
        self._begin_ns = self._last_end_ns = self._asks_ns = perf_counter_ns()
        self._threads = torch.get_num_threads()
        self._first = self._ticks // self._period
        self._file.add("watch", {"schema": 1, "first_step": self._first, "began_at": time()})
        self._before = self._reader.read()
        self._window_ns = self._begin_ns
        self._running = True
        # held while it looks: to take it means that it has ended
        self._looking, self._stopped = _thread.allocate_lock(), _thread.allocate_lock()
        self._looking.acquire()
        self._stopped.acquire()
        _thread.start_new_thread(self._look_on, ())

    def tick(self, now_ns: int) -> None:
        self._ticks += 1
        if self._ticks % self._period == 0 and not self._paused:
            self._ends.append(now_ns)
            self._batches.tick()
            if now_ns >= self._asks_ns:
                self._asks_ns = now_ns + _ASKS_EVERY_NS
                self._ask()

    @guarded("asking how far the run is")
    def _ask(self) -> None:
        self._threads = torch.get_num_threads()  # of the thread that asks
        if self._wants_left:
            self._wants_left = False
            steps = self._ticks // self._period
            self._steps_left = self._left.look(steps, self._batches.round()) or 0.0

    def pause(self, reason: str, number: int) -> None:
        """A recording of that number begins: its steps are no usual ones."""
        self._paused = True
        self._end_window()
        self._file.add("snap", {"number": number, "first": self._ticks // self._period, "reason": reason})

    def resume(self) -> None:
        """It has ended. Nothing if none began."""
        if not self._paused:
            return
        self._batches.forget()
        self._pauses.clear()
        self._looks.clear()
        self._before = self._reader.read()
        self._last_end_ns = self._window_ns = perf_counter_ns()
        self._first = self._ticks // self._period
        self._paused = False

    @guarded("timing garbage collections")
    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if get_ident() != self._thread:
            return
        if phase == "start":
            self._pause_ns = perf_counter_ns()
        elif self._pause_ns:
            self._pauses.append((self._pause_ns, perf_counter_ns() - self._pause_ns))

    def end(self) -> None:
        """Write what there is. Harmless when repeated."""
        self._batches.remove()
        self._collector.remove()
        if self._running:
            self._running = False
            self._stopped.release()
            if self._looking.acquire(timeout=1.0):
                self._end_window()
        self._file.close()

    def forked(self) -> None:
        """In a forked child: nothing of it is watched."""
        self._running = False
        self._batches.remove()
        self._collector.remove()
        self._file.close()

    # beside it

    @guarded("watching the run")
    def _look_on(self) -> None:
        try:
            while not self._stopped.acquire(timeout=_LOOKS_EVERY_S):
                if self._paused:
                    continue
                self._look()
                if perf_counter_ns() - self._window_ns >= self._file.length_s * 1e9 and self._ends:
                    self._end_window()
        finally:
            self._looking.release()

    def _look(self) -> None:
        stack = stack_now(self._thread, self._places)
        number = self._stacks.get(stack)
        if number is None:
            if len(self._stacks) >= _STACKS_AT_MOST:
                return
            number = self._stacks[stack] = len(self._stacks)
            self._file.add("stack", [list(line) for line in stack])
        self._looks.append((perf_counter_ns(), number))

    @guarded("writing what steps took")
    def _end_window(self) -> None:
        """All that has been written down since the last one becomes a window."""
        with self._windowing:
            self._add_window()

    def _add_window(self) -> None:
        ends = _taken(self._ends)
        if not ends:
            return
        waits, pauses, looks = (_begun_by(ends[-1], of) for of in (self._waits, self._pauses, self._looks))
        before, self._before = self._before, self._reader.read()
        begin_ns, self._window_ns = self._last_end_ns, self._before.ns
        borders = [begin_ns, *ends]
        self._last_end_ns = ends[-1]
        steps = [(end - begin) / 1e6 for begin, end in zip(borders, ends, strict=False)]
        window: Window = {
            "first": self._first,
            "steps": len(steps),
            "at_s": (begin_ns - self._begin_ns) / 1e9,
            "s": (ends[-1] - begin_ns) / 1e9,
            **step_times(steps),
            "input_ms": sum(ns for _, ns in waits) / 1e6 / len(steps),
            "gc_ms": sum(ns for _, ns in pauses) / 1e6 / len(steps),
            **between(before, self._before, len(steps)),
            "threads": self._threads,
            **self._reader.memory(),
            "samples": self._new_samples(),
        }
        self._first += len(steps)
        counted = Counter(stack for _, stack in looks)
        window["lines"] = [list(pair) for pair in counted.most_common(LINES_AT_MOST)]
        window |= self._slow_steps(window, borders, steps, waits, pauses, looks)
        self._file.add("window", window)
        self._tell(self._in_words(window))
        self._wants_left = True
        self._judge(window)

    def _new_samples(self) -> int | None:
        """Since the last window."""
        if self._batches.samples is None:
            return None
        before, self._samples = self._samples, self._batches.samples
        return self._samples - before

    def _slow_steps(
        self,
        window: Window,
        borders: list[int],
        steps: list[float],
        waits: list[tuple[int, int]],
        pauses: list[tuple[int, int]],
        looks: list[tuple[int, int]],
    ) -> dict[str, Any]:
        """Those that took half as long again as usual, and what they lost to it, ms."""
        self._usual.append(window["median_ms"])
        usual = sorted(self._usual)[len(self._usual) // 2]
        slow = [index for index, ms in enumerate(steps) if ms > SLOW * usual]
        worst = sorted(sorted(slow, key=lambda index: -steps[index])[:SLOW_AT_MOST])
        told = []
        for index in worst:
            begin, end = borders[index], borders[index + 1]
            seen = Counter(stack for at, stack in looks if begin < at <= end)
            told.append(
                [
                    window["first"] + index,
                    (begin - self._begin_ns) / 1e9,
                    steps[index],
                    sum(ns for at, ns in waits if begin < at <= end) / 1e6,
                    sum(ns for at, ns in pauses if begin < at <= end) / 1e6,
                    seen.most_common(1)[0][0] if seen else -1,
                ]
            )
        lost_ms = sum(steps[index] - usual for index in slow)
        return {"lost_ms": lost_ms, "slow_count": len(slow), "slow": told}

    def _judge(self, window: Window) -> None:
        self._tell_of(self._typical.add(window["median_ms"], window), "typical", window)
        self._averaged.append(window)
        seconds = sum(part["s"] for part in self._averaged)
        if seconds >= _AVERAGED_S:
            average_ms = 1000 * seconds / sum(part["steps"] for part in self._averaged)
            self._tell_of(self._average.add(average_ms, self._averaged[0]), "average", window)
            self._averaged = []

    def _tell_of(self, change: Change | None, of: str, window: Window) -> None:
        """``window``: that in which it was noticed."""
        if change is None:
            return
        self._file.add(
            "change",
            {
                "of": of,
                "first": change.where["first"],
                "at_s": change.where["at_s"],
                "before_ms": change.before,
                "after_ms": change.after,
                "noticed": window["first"] + window["steps"],
                "noticed_at_s": window["at_s"] + window["s"],
            },
        )
        if change.ratio > 1:
            self._slower(change)

    def _in_words(self, window: Window) -> str:
        """`step 1,200, 10.3 ms a step, 310 samples/s, input wait 12 %, memory 1.2 GB, 2 h 5 min left`."""
        mean_ms = 1000 * window["s"] / window["steps"]
        parts = [f"step {window['first'] + window['steps']:,}", f"{mean_ms:.3g} ms a step"]
        if window["samples"]:
            parts.append(f"{_three_digits(window['samples'] / window['s'])} samples/s")
        if window["input_ms"] >= mean_ms / 100:
            parts.append(f"input wait {100 * window['input_ms'] / mean_ms:.0f} %")
        if window["lost_ms"] >= 10 * window["s"]:
            parts.append(f"slow steps {window['lost_ms'] / 10 / window['s']:.0f} %")
        parts.append(f"memory {(window['allocated_bytes'] or window['rss_bytes']) / 1e9:.2g} GB")
        self._pace.append((window["s"], window["steps"]))
        if self._steps_left:
            seconds, steps = map(sum, zip(*self._pace, strict=True))
            parts.append(f"about {_duration(self._steps_left * seconds / steps)} left")
        return ", ".join(parts)


def _taken(waiting: deque[Any]) -> list[Any]:
    """What is there now; more may be added meanwhile."""
    return [waiting.popleft() for _ in range(len(waiting))]


def _begun_by(end_ns: int, waiting: deque[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that began until then; later ones belong to the next window."""
    found = []
    while waiting and waiting[0][0] <= end_ns:
        found.append(waiting.popleft())
    return found


def _three_digits(number: float) -> str:
    return f"{float(f'{number:.3g}'):,.3g}" if number < 1000 else f"{float(f'{number:.3g}'):,.0f}"


def _duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 5 min`, `3 d 2 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
