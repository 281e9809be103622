"""Marks around lines that index (`x[i]`, `x[i] = y`): that is no call to Python, so a profiler with stacks
does not see from which line it is made.

CPython itself says where such a line begins and ends (`sys.settrace`). A `__getitem__` put in the place of
torch's would say it, too, but would make every tensor a sequence for good: then torch makes no tensor of a
list of single numbers any more.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..guard import guarded
from ..places import Places
from ..source.frame_values import is_changed_by_tracing
from .ranges import mark

_WHAT = "marking lines that index"
_INDEXES = {"BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_SLICE", "STORE_SLICE", "BINARY_OP"}
_Trace = Callable[[FrameType, str, Any], Any]


class IndexMarks:
    """From `begin` to `end`, in the thread that calls them; nothing where somebody else traces it."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._names: dict[CodeType, dict[int, str]] = {}  # of the marks, by line
        self._traced: list[FrameType] = []
        self._open: list[tuple[FrameType, Any]] = []  # the marks that are, innermost last
        self._marks = False

    @guarded(_WHAT)
    def begin(self, frame: FrameType | None) -> None:
        """``frame``: the innermost one of the script's or one that it calls."""
        if sys.gettrace() is not None:
            return
        while frame is not None:
            if self._lines_of(frame.f_code) and frame.f_trace is None:
                frame.f_trace = self._line
                self._traced.append(frame)
            frame = frame.f_back
        self._marks = True
        sys.settrace(self._call)

    @guarded(_WHAT)
    def end(self) -> None:
        self._marks = False
        if sys.gettrace() == self._call:
            sys.settrace(None)
        for frame in self._traced:
            if frame.f_trace == self._line:
                frame.f_trace = None
        self._traced.clear()
        self._close_down_to(0)

    @guarded(_WHAT)
    def _call(self, frame: FrameType, event: str, arg: Any) -> _Trace | None:
        """A function is called, or a generator goes on."""
        return self._line if self._lines_of(frame.f_code) else None

    @guarded(_WHAT)
    def _line(self, frame: FrameType, event: str, arg: Any) -> _Trace | None:
        """One of its lines begins, or it ends."""
        if not self._marks:  # a generator that was left waiting goes on
            return None
        if event in ("line", "return"):
            for depth, (opened, _) in enumerate(self._open):
                if opened is frame:
                    self._close_down_to(depth)
                    break
        if event == "line" and (name := self._lines_of(frame.f_code).get(frame.f_lineno)) is not None:
            entered = mark(name)
            entered.__enter__()
            self._open.append((frame, entered))
        return self._line

    def _close_down_to(self, depth: int) -> None:
        while len(self._open) > depth:
            self._open.pop()[1].__exit__(None, None, None)

    def _lines_of(self, code: CodeType) -> dict[int, str]:
        """The marks' names by line; empty for code that is not the script's."""
        names = self._names.get(code)
        if names is None:
            file = self._places.user_file(code.co_filename)
            lines = indexing_lines(code) if file and not is_changed_by_tracing(code) else ()
            names = self._names[code] = {
                line: f"diagnose::subscript|{file}|{line}|{code.co_name}" for line in lines
            }
        return names


def indexing_lines(code: CodeType) -> set[int]:
    """Of the function itself, not of those that it defines."""
    return {
        step.positions.lineno
        for step in dis.get_instructions(code)
        if step.positions is not None
        and step.positions.lineno is not None
        and step.opname in _INDEXES
        and (step.opname != "BINARY_OP" or step.argrepr == "[]")  # since Python 3.14
    }
