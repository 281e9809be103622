"""How long each of the script's lines runs, for a few steps once all is recorded.

A profiler sees calls. A line that makes none, as arithmetic on numbers or arrays of NumPy, is in no
recording, and one that makes thousands of cheap calls is in it with what recording them costs. CPython
itself tells where each line begins (`sys.settrace`); the time from there to the next line is the line's own,
with all that it calls but the script's own functions, whose lines are told by themselves.

A step that takes far longer than most, as the last one of an epoch with its validation, is left out.

What being told costs is measured between the steps, while the machine is as busy as in them, and written down
for the analysis to take off. Nothing is
traced where somebody else does already, as a debugger, nor where torch compiles.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch.optim.optimizer import Optimizer
from torch.utils.data import dataloader

from .guard import guarded, note
from .inspection import compiler_in_use
from .places import OWN_FOLDER, Places

_STEPS_AT_LEAST, _STEPS_AT_MOST = 2, 12
_FAR_LONGER, _OF_FEW = 3, 4  # times the median of the steps; of how many steps one may be left out
_ENOUGH_NS, _TOO_LONG_NS = 250_000_000, 5_000_000_000
_LINES_AT_MOST = 1_000
# of a loop that tells what being told costs; and how often it is run, for the median leaves pauses out
_ROUNDS, _BATCHES = 300, 5

OURS = "ours"  # a tick, as if it were a part of the step
# ns, how often it began, how many functions of libraries it called; then each of the times it took long, ns
_Line = list[int]
_Key = tuple[CodeType, int, str]  # code, line, part of the step
_HEAD = 3
_LONG_NS = 1_000_000  # a pause, where the same line is far shorter mostly: somebody else had the core
_PAUSE = 4  # times as long as the rest
_RARE = 4  # one of so many
_Trace = Callable[[FrameType, str, Any], Any]
_WHAT = "timing the script's lines"


class _Step(NamedTuple):
    ns: int
    lines: dict[_Key, _Line]


class LineClock:
    """`begin` at a border between two steps, `step` at the end of each until it returns True; `end` at any
    time. `facts` are there then.
    """

    what = _WHAT

    def __init__(self, places: Places) -> None:
        self._places = places
        self.facts: dict[str, Any] | None = None
        self._tracer: _Tracer | None = None
        self._costs: list[tuple[float, float]] = []
        self._steps: list[_Step] = []

    def begin(self) -> bool:
        """Whether there is anything to do."""
        if sys.gettrace() is not None or compiler_in_use():
            return False
        self._steps, self._costs = [], [_costs()]
        frame, hook = _way_here()
        self._tracer = _Tracer(self._places.user_file, {**_parts(), **({hook: OURS} if hook else {})})
        self._tracer.start(frame)
        self._began_ns = self._step_began_ns = perf_counter_ns()
        return True

    def step(self) -> bool:
        """A step has ended. Whether it was the last one."""
        now = perf_counter_ns()
        if self._tracer is not None:
            with self._tracer.paused():
                self._steps.append(_Step(now - self._step_began_ns, self._tracer.taken_lines()))
                self._costs.append(_costs())
        self._step_began_ns = perf_counter_ns()
        elapsed_ns, took_ns = now - self._began_ns, [step.ns for step in self._steps]
        differ = len(took_ns) < _OF_FEW and max(took_ns, default=0) > _FAR_LONGER * min(took_ns, default=0)
        enough = len(took_ns) >= _STEPS_AT_LEAST and elapsed_ns >= _ENOUGH_NS and not differ
        cut = self._tracer is None or self._tracer.stopped
        return enough or cut or len(took_ns) >= _STEPS_AT_MOST or elapsed_ns >= _TOO_LONG_NS

    def end(self) -> None:
        tracer, self._tracer = self._tracer, None
        if tracer is None:
            return
        tracer.stop()
        if self._steps and not tracer.failed:
            self.facts = self._told(_usual(self._steps))

    def _told(self, steps: list[_Step]) -> dict[str, Any]:
        """Of these steps, ns. ``part``: forward, backward, optimizer or next, in which the line ran."""
        event_ns, call_ns = (median(costs) for costs in zip(*self._costs, strict=True))
        all_lines = _together(steps)
        often = (_typical_ns(line) / line[1] for line in all_lines.values() if line[1] >= _ROUNDS)
        event_ns = min([event_ns, *often])  # being told of a line is a part of each line's time
        script = (item for item in all_lines.items() if item[0][2] != OURS)
        lines = sorted(script, key=lambda item: -_typical_ns(item[1]))[:_LINES_AT_MOST]
        return {
            "steps": len(steps),
            "event_ns": event_ns,
            "library_call_ns": call_ns,
            "lines": [
                {
                    "file": self._places.user_file(code.co_filename),
                    "line": number,
                    "function": code.co_name,
                    "part": part,
                    "ns": _typical_ns(line),
                    "count": line[1],
                    "library_calls": line[2],
                }
                for (code, number, part), line in lines
            ],
        }


def _usual(steps: list[_Step]) -> list[_Step]:
    """Without those that take far longer than the (lower) median, if these are few."""
    took_ns = sorted(step.ns for step in steps)
    at_most_ns = _FAR_LONGER * took_ns[(len(took_ns) - 1) // 2]
    usual = [step for step in steps if step.ns <= at_most_ns]
    return usual if (len(steps) - len(usual)) * _OF_FEW <= len(steps) else steps


def _together(steps: list[_Step]) -> dict[_Key, _Line]:
    lines: dict[_Key, _Line] = {}
    for step in steps:
        for key, line in step.lines.items():
            known = lines.setdefault(key, [0, 0, 0])
            lines[key] = [
                *(one + more for one, more in zip(known[:_HEAD], line[:_HEAD], strict=True)),
                *known[_HEAD:],
                *line[_HEAD:],
            ]
    return lines


def _typical_ns(line: _Line) -> int:
    """What it took; pauses are as long as the rest is on average."""
    ns, count, long = line[0], line[1], line[_HEAD:]
    rest = count - len(long)
    if not long or not rest:
        return ns + sum(long)
    pauses = [one for one in long if one > _PAUSE * ns / rest]
    if len(pauses) * _RARE > count:
        return ns + sum(long)
    others = ns + sum(long) - sum(pauses)
    return round(others * count / (count - len(pauses)))


def _caught(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of what CPython calls itself: an exception would be the script's. Nothing is traced any more then."""

    @functools.wraps(function)
    def call(tracer: _Tracer, frame: FrameType, event: str, arg: Any) -> Any:
        try:
            return function(tracer, frame, event, arg)
        except Exception as error:
            tracer._fail(error)
            return None

    call.guard = _caught  # type: ignore[attr-defined]  # for tests that plant faults inside of it
    return call


class _Tracer:
    """`sys.settrace`'s functions. Their own time counts for no line."""

    def __init__(self, user_file: Callable[[str], str], parts: dict[CodeType, str]) -> None:
        self.lines: dict[_Key, _Line] = {}
        self._elsewhere: _Line = [0, 0, 0]
        self.failed = self.stopped = False
        self._is_user: dict[CodeType, bool] = {}
        self._user_file, self._parts = user_file, parts
        self._part, self._outer = "", ""
        self._current, self._since = self._elsewhere, 0
        self._until = 0
        self._traced: list[FrameType] = []

    def start(self, frame: FrameType | None) -> None:
        """From the next line on that the script's functions around this frame come to."""
        while frame is not None:
            if self._of_user(frame.f_code) and frame.f_trace is None:
                frame.f_trace = self._line
                self._traced.append(frame)
            frame = frame.f_back
        if self._traced:
            self._current = self._line_of(self._traced[0])
        self.stopped = False
        sys.settrace(self._call)
        self._since = perf_counter_ns()
        self._until = self._since + _TOO_LONG_NS

    @contextmanager
    def paused(self) -> Iterator[None]:
        """In the thread that is traced; nothing is where it was stopped."""
        if self.stopped:
            yield
            return
        sys.settrace(None)
        self._current[0] += perf_counter_ns() - self._since
        try:
            yield
        finally:
            sys.settrace(self._call)
            self._since = perf_counter_ns()

    def taken_lines(self) -> dict[_Key, _Line]:
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

    def _around(self, frame: FrameType | None) -> _Line:
        """The line of the script that goes on when a function has ended."""
        while frame is not None:
            if self._of_user(frame.f_code):
                return self._line_of(frame)
            frame = frame.f_back
        return self._elsewhere

    def _line_of(self, frame: FrameType) -> _Line:
        key = (frame.f_code, frame.f_lineno or -1, self._part)
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = [0, 0, 0]
        return line

    def _of_user(self, code: CodeType) -> bool:
        known = self._is_user.get(code)
        if known is None:
            known = self._is_user[code] = bool(self._user_file(code.co_filename))
        return known

    @guarded(_WHAT)
    def _fail(self, error: Exception) -> None:
        self.failed = True
        note(_WHAT, error)
        self.stop()


def _way_here() -> tuple[FrameType | None, CodeType | None]:
    """The frame that called us, and the outermost function of ours that it called, in which all ticks are."""
    frame: FrameType | None = sys._getframe()
    hook = None
    while frame is not None and frame.f_code.co_filename.startswith(OWN_FOLDER):
        hook, frame = frame.f_code, frame.f_back
    return frame, hook


def _parts() -> dict[CodeType, str]:
    """The functions of torch that a part of the step is, outermost."""
    step = next(
        constant
        for constant in Optimizer.profile_hook_step.__code__.co_consts
        if isinstance(constant, CodeType) and constant.co_name == "wrapper"
    )
    call = getattr(torch.nn.Module, "_wrapped_call_impl", torch.nn.Module._call_impl)
    return {
        call.__code__: "forward",
        torch.autograd.backward.__code__: "backward",
        step: "optimizer",
        dataloader._BaseDataLoaderIter.__next__.__code__: "next",
    }


# ---- what being told costs


def _costs() -> tuple[float, float]:
    """ns that a line which begins takes longer, and one more function of a library that is called."""
    tracer = _Tracer(lambda name: "mine", {})
    tracer._is_user = {_lines.__code__: True, _calls.__code__: True, _library.__code__: False}
    lines_ns, calls_ns = (
        median(_told_ns(tracer, function) - _plain_ns(function) for _ in range(_BATCHES))
        for function in (_lines, _calls)
    )
    event_ns = max(0.0, lines_ns / (2 * _ROUNDS))
    return event_ns, max(0.0, calls_ns / _ROUNDS - 2 * event_ns)


def _told_ns(tracer: _Tracer, function: Callable[[], None]) -> int:
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
    for number in range(_ROUNDS):
        total += number * 0.5


def _calls() -> None:
    for number in range(_ROUNDS):
        _library(number)


def _library(number: int, *more: int, scale: float = 2.0) -> float:
    names = {"number": number, "scale": scale}
    if more or number < 0:
        names.clear()
    return names["number"] * names["scale"]
