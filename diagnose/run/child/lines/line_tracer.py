"""CPython's own word on where each line begins (`sys.settrace`), and what being told costs."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

from ..guard import guarded, note
from ..source.frame_values import is_changed_by_tracing

WHAT = "timing the script's lines"
OURS = "ours"  # a tick, as if it were a part of the step
TOO_LONG_NS = 5_000_000_000
# ns, how often it began, how many functions of libraries it called; from `LONG_FROM` on each of the times it
# took long, ns: a pause, where the same line is far shorter mostly, for somebody else had the core
Line = list[int]
LONG_FROM = 3
_LONG_NS = 1_000_000
Key = tuple[CodeType, int, str]  # code, line, part of the step
# of a loop that tells what being told costs; and how often it is run, for the median leaves pauses out
BATCH, _BATCHES = 300, 5
_Trace = Callable[[FrameType, str, Any], Any]


def _caught(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of what CPython calls itself: an exception would be the script's. Nothing is traced any more then."""

    @functools.wraps(function)
    def call(tracer: Tracer, frame: FrameType, event: str, arg: Any) -> Any:
        try:
            return function(tracer, frame, event, arg)
        except Exception as error:
            tracer._fail(error)
            return None

    call.guard = _caught  # type: ignore[attr-defined]  # for tests that plant faults inside of it
    return call


class Tracer:
    """`sys.settrace`'s functions. Their own time counts for no line."""

    def __init__(self, user_file: Callable[[str], str], parts: dict[CodeType, str]) -> None:
        self.lines: dict[Key, Line] = {}
        self._elsewhere: Line = [0, 0, 0]
        self.failed = self.stopped = False
        self._is_user: dict[CodeType, bool] = {}
        self._user_file, self._parts = user_file, parts
        self._part, self._outer = "", ""
        self._current, self._since = self._elsewhere, 0
        self._until = 0
        self._traced: list[FrameType] = []

    def can_trace(self, frame: FrameType | None) -> bool:
        """Whether each of the script's functions around this frame can be told of."""
        while frame is not None:
            code = frame.f_code
            if self._user_file(code.co_filename) and is_changed_by_tracing(code):
                return False
            frame = frame.f_back
        return True

    def start(self, frame: FrameType | None, ours: FrameType | None = None) -> None:
        """From the next line on that the script's functions around this frame come to; what the recorder does
        in the frame `ours`, which goes on, is no line's.
        """
        while frame is not None:
            if self._of_user(frame.f_code) and frame.f_trace is None:
                frame.f_trace = self._line
                self._traced.append(frame)
            frame = frame.f_back
        around = self._traced[0] if self._traced else None
        if ours is not None:
            self._part = OURS
            ours.f_trace, ours.f_trace_lines = self._in_part, False
            self._traced.append(ours)
        if around is not None:
            self._current = self._line_of(around)
        self.stopped = False
        sys.settrace(self._call)
        self._since = perf_counter_ns()
        self._until = self._since + TOO_LONG_NS

    @contextmanager
    def paused(self) -> Iterator[None]:
        """In the thread that is traced; nothing is where it was stopped, or a debugger of the script's has
        come.
        """
        if self.stopped or sys.gettrace() != self._call:
            yield
            return
        sys.settrace(None)
        self._current[0] += perf_counter_ns() - self._since
        try:
            yield
        finally:
            sys.settrace(self._call)
            self._since = perf_counter_ns()

    def taken_lines(self) -> dict[Key, Line]:
        """Those since this was last called; the line that goes on begins anew."""
        lines, self.lines = self.lines, {}
        key = next((key for key, line in lines.items() if line is self._current), None)
        if key is not None:
            self._current = self.lines[key] = [0, 0, 0]
        return lines

    def stop(self) -> None:
        """From any thread; that which is traced notices it at its next call."""
        self._leave()
        self.stopped = True
        for frame in self._traced:
            frame.f_trace = None
        self._traced.clear()

    def _leave(self) -> None:
        """In a thread that somebody else traces by now nothing is changed."""
        if sys.gettrace() == self._call:
            sys.settrace(None)

    @_caught
    def _call(self, frame: FrameType, event: str, arg: Any) -> _Trace | None:
        """A function is called, or a generator goes on."""
        if self.stopped:
            self._leave()
            return None
        code = frame.f_code
        if self._is_user.get(code):
            return self._enter(frame)
        self._current[2] += 1
        part = self._parts.get(code, "")
        if part and (not self._part or part == OURS):
            frame.f_trace_lines = False
            self._outer = self._part
            return self._border(frame, part)
        return None if code in self._is_user else self._meet(frame)

    def _meet(self, frame: FrameType) -> _Trace | None:
        """A function that was not met before."""
        now = perf_counter_ns()
        self._current[0] += now - self._since
        is_user = self._of_user(frame.f_code)
        self._since = perf_counter_ns()
        return self._enter(frame) if is_user else None

    def _enter(self, frame: FrameType) -> _Trace | None:
        now = perf_counter_ns()
        current = self._current
        current[0] += now - self._since
        current[1] += 1
        self._current = self._line_of(frame)
        self._since = perf_counter_ns()
        return self._line

    @_caught
    def _line(self, frame: FrameType, event: str, arg: Any) -> _Trace | None:
        """A line of the script begins, or one of its functions ends."""
        now = perf_counter_ns()
        if self.stopped:  # a generator that was left waiting goes on
            self._leave()
            frame.f_trace = None
            return None
        current = self._current
        took = now - self._since
        if took < _LONG_NS:
            current[0] += took
        else:
            current.append(took)
        current[1] += 1
        if now > self._until:
            self.stop()
            return None
        self._current = self._line_of(frame) if event != "return" else self._around(frame.f_back)
        self._since = perf_counter_ns()
        return self._line

    @_caught
    def _in_part(self, frame: FrameType, event: str, arg: Any) -> _Trace | None:
        """In the function that a part of the step is; only its end is of interest."""
        if event != "return":
            return self._in_part
        part, self._outer = self._outer, ""
        return self._border(frame, part)

    def _border(self, frame: FrameType, part: str) -> _Trace | None:
        """A part begins or ends, on a line of the script that goes on."""
        now = perf_counter_ns()
        self._current[0] += now - self._since
        self._part = part
        self._current = self._around(frame.f_back)
        self._since = perf_counter_ns()
        return self._in_part

    def _around(self, frame: FrameType | None) -> Line:
        """The line of the script that goes on when a function has ended."""
        while frame is not None:
            if self._of_user(frame.f_code):
                return self._line_of(frame)
            frame = frame.f_back
        return self._elsewhere

    def _line_of(self, frame: FrameType) -> Line:
        key = (frame.f_code, frame.f_lineno or -1, self._part)
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = [0, 0, 0]
        return line

    def _of_user(self, code: CodeType) -> bool:
        known = self._is_user.get(code)
        if known is None:
            is_user = bool(self._user_file(code.co_filename)) and not is_changed_by_tracing(code)
            known = self._is_user[code] = is_user
        return known

    @guarded(WHAT)
    def _fail(self, error: Exception) -> None:
        self.failed = True
        note(WHAT, error)
        self.stop()


def costs_ns() -> tuple[float, float]:
    """ns that a line which begins takes longer, and one more function of a library that is called."""
    tracer = Tracer(lambda name: "mine", {})
    tracer._is_user = {_lines.__code__: True, _calls.__code__: True, _library.__code__: False}
    lines_ns, calls_ns = (
        median(_told_ns(tracer, function) - _plain_ns(function) for _ in range(_BATCHES))
        for function in (_lines, _calls)
    )
    event_ns = max(0.0, lines_ns / (2 * BATCH))
    return event_ns, max(0.0, calls_ns / BATCH - 2 * event_ns)


def _told_ns(tracer: Tracer, function: Callable[[], None]) -> int:
    tracer.lines.clear()
    tracer.start(None)
    function()
    tracer.stop()
    return sum(line[0] for line in tracer.lines.values())


def _plain_ns(function: Callable[[], None]) -> int:
    began_ns = perf_counter_ns()
    function()
    return perf_counter_ns() - began_ns


# Lines and functions as long as most are: while CPython traces, each of their instructions takes longer.


def _lines() -> None:
    total = 0.0
    for number in range(BATCH):
        total += number * 0.5


def _calls() -> None:
    for number in range(BATCH):
        _library(number)


def _library(number: int, *more: int, scale: float = 2.0) -> float:
    names = {"number": number, "scale": scale}
    if more or number < 0:
        names.clear()
    return names["number"] * names["scale"]
