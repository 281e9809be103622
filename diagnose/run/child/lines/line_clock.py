"""How long each of the script's lines runs, for a few steps once all is recorded.

A profiler sees calls. A line that makes none, as arithmetic on numbers or arrays of NumPy, is in no
recording, and one that makes thousands of cheap calls is in it with what recording them costs. A line's time
is from where it begins to the next line (`line_tracer.py`): its own, with all that it calls but the script's
own functions, whose lines are told by themselves.

A step that takes far longer than most, as the last one of an epoch with its validation, is left out.

What being told costs is measured between the steps, while the machine is as busy as in them, and written down
for the analysis to take off. Nothing is traced where somebody else does already, as a debugger, nor where
torch compiles, nor where a function around the step may hold the dictionary of its variables: whoever called
it would have the time of its lines.
"""

from __future__ import annotations

import linecache
import math
import re
import sys
from statistics import median
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch.optim.optimizer import Optimizer
from torch.utils.data import dataloader

from ..inspection import compiler_in_use
from ..places import OWN_FOLDER, Places
from .line_tracer import BATCH, LONG_FROM, OURS, TOO_LONG_NS, WHAT, Key, Line, Tracer, costs_ns

_STEPS_AT_LEAST, _STEPS_AT_MOST = 2, 12
_FAR_LONGER, _OF_FEW = 3, 4  # times the median of the steps; of how many steps one may be left out
_ENOUGH_NS = 250_000_000
_LINES_AT_MOST = 1_000
_PAUSE = 4  # times as long as the rest
_RARE = 4  # one of so many
# a call of a type is none that a profiler is told of
_TYPED_TENSOR = re.compile(r"\b(Float|Double|Half|Long|Int|Short|Char|Byte|Bool)?Tensor\(")


class _Step(NamedTuple):
    ns: int
    lines: dict[Key, Line]


class LineClock:
    """`begin` at a border between two steps, `step` at the end of each until it returns True; `end` at any
    time. `facts` are there then.
    """

    what = WHAT

    def __init__(self, places: Places) -> None:
        self._places = places
        self.facts: dict[str, Any] | None = None
        self._tracer: Tracer | None = None
        self._costs: list[tuple[float, float]] = []
        self._steps: list[_Step] = []

    def begin(self) -> bool:
        """Whether there is anything to do."""
        if sys.gettrace() is not None or compiler_in_use():
            return False
        self._steps, self._costs = [], [costs_ns()]
        frame, hook = _way_here()
        tracer = Tracer(self._places.user_file, {**_parts(), **({hook.f_code: OURS} if hook else {})})
        if not tracer.can_trace(frame):
            return False
        self._tracer = tracer
        tracer.start(frame, hook)
        self._began_ns = self._step_began_ns = perf_counter_ns()
        return True

    def step(self) -> bool:
        """A step has ended. Whether it was the last one."""
        now = perf_counter_ns()
        if self._tracer is not None:
            with self._tracer.paused():
                self._steps.append(_Step(now - self._step_began_ns, self._tracer.taken_lines()))
                self._costs.append(costs_ns())
        self._step_began_ns = perf_counter_ns()
        elapsed_ns, took_ns = now - self._began_ns, [step.ns for step in self._steps]
        differ = len(took_ns) < _OF_FEW and max(took_ns, default=0) > _FAR_LONGER * min(took_ns, default=0)
        enough = len(took_ns) >= _STEPS_AT_LEAST and elapsed_ns >= _ENOUGH_NS and not differ
        cut = self._tracer is None or self._tracer.stopped
        return enough or cut or len(took_ns) >= _STEPS_AT_MOST or elapsed_ns >= TOO_LONG_NS

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
        often = (_typical_ns(line) / line[1] for line in all_lines.values() if line[1] >= BATCH)
        # being told of a line is a part of each line's time, and times its count no more by rounding either
        event_ns = min([event_ns, *(math.nextafter(ns, 0.0) for ns in often)])
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
                    "makes_typed_tensor": bool(
                        _TYPED_TENSOR.search(linecache.getline(code.co_filename, number))
                    ),
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


def _together(steps: list[_Step]) -> dict[Key, Line]:
    lines: dict[Key, Line] = {}
    for step in steps:
        for key, line in step.lines.items():
            known = lines.setdefault(key, [0, 0, 0])
            lines[key] = [
                *(one + more for one, more in zip(known[:LONG_FROM], line[:LONG_FROM], strict=True)),
                *known[LONG_FROM:],
                *line[LONG_FROM:],
            ]
    return lines


def _typical_ns(line: Line) -> int:
    """What it took; pauses are as long as the rest is on average."""
    ns, count, long = line[0], line[1], line[LONG_FROM:]
    rest = count - len(long)
    if not long or not rest:
        return ns + sum(long)
    pauses = [one for one in long if one > _PAUSE * ns / rest]
    if len(pauses) * _RARE > count:
        return ns + sum(long)
    others = ns + sum(long) - sum(pauses)
    return round(others * count / (count - len(pauses)))


def _way_here() -> tuple[FrameType | None, FrameType | None]:
    """The frame that called us, and that of the outermost function of ours which it called, in which all
    ticks are.
    """
    frame: FrameType | None = sys._getframe(1)
    hook = None
    while frame is not None and frame.f_code.co_filename.startswith(OWN_FOLDER):
        hook, frame = frame, frame.f_back
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
