"""What the script's Dataset begins each sample with, before anything random: that comes out alike in every
epoch, also where the sample does not.

For some samples of one batch CPython tells where each line of the function that makes them begins. Between
two lines the generators in reach are compared; in a loop in the first round alone, the others count with its
last line.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter_ns
from types import FrameType
from typing import Any

from ..guard import attempt, guarded
from .randomness import generator_states

_SAMPLES_AT_MOST = 16
_WHAT = "looking at what samples begin with"


def look_at_start(dataset: Any, made: dict[str, Any], fetched: Callable[[], Any]) -> tuple[Any, Any]:
    """The batch, and what is told of its samples: `Looks.told`; None where a debugger or a coverage tool
    traces. ``made``: file, line and name of the function that makes a sample.
    """
    if sys.gettrace() is not None:
        return fetched(), None
    looks = Looks(made, lambda: generator_states(dataset))
    sys.settrace(looks.function_begins)
    try:
        batch = fetched()
    finally:
        if sys.gettrace() == looks.function_begins:  # else a debugger has come meanwhile
            sys.settrace(None)
    return batch, attempt(_WHAT, looks.told, None)


class Looks:
    """At samples of a batch; ``states``: what all generators in reach stand at, None if that is not known."""

    def __init__(self, made: dict[str, Any], states: Callable[[], Any]) -> None:
        self._made, self._states = made, states
        # of each sample the lines in order: number, ns, and whether it drew random numbers
        self._samples: list[list[tuple[int, int, bool]]] = []
        self._line, self._begin_ns, self._state = 0, 0, None
        self._begun: set[int] = set()  # lines of the last sample

    @guarded(_WHAT)
    def function_begins(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if code.co_firstlineno != self._made["line"] or code.co_name != self._made["function"]:
            return None
        same_file = os.path.basename(code.co_filename) == os.path.basename(self._made["file"])
        if not same_file or len(self._samples) >= _SAMPLES_AT_MOST:
            return None
        self._samples.append([])
        self._begun.clear()
        self._state = self._states()
        self._line, self._begin_ns = frame.f_lineno, perf_counter_ns()
        return self._line_begins

    @guarded(_WHAT)
    def _line_begins(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        """Or the function ends. What it takes to compare generators is not counted."""
        if event == "return" or (event == "line" and frame.f_lineno not in self._begun):
            self._begun.add(frame.f_lineno)
            took_ns = perf_counter_ns() - self._begin_ns
            state = self._states()
            self._samples[-1].append((self._line, took_ns, state != self._state))
            self._state = state
            self._line, self._begin_ns = frame.f_lineno, perf_counter_ns()
        return self._line_begins

    def told(self) -> dict[str, Any] | None:
        """The ``share`` of the samples' time before the first that is random, the ``line`` that takes most of
        it (None if there is none), and the line that ``draws`` first (None if the function draws nothing).
        Samples that happen to draw nothing have no more before it than the others.
        """
        if not self._samples or self._state is None:  # which cannot be compared
            return None
        drawing = [_drawing_line(sample) for sample in self._samples]
        first = [_before_drawing(sample) for sample in self._samples]
        begun = [lines for lines, line in zip(first, drawing, strict=True) if line is not None]
        shared = set.intersection(*map(set, begun)) if begun else None
        before: Counter[int] = Counter()
        for lines in first:
            for line, ns in lines.items():
                if shared is None or line in shared:
                    before[line] += ns
        whole_ns = sum(ns for sample in self._samples for _, ns, _ in sample)
        (costliest, _), *_ = before.most_common(1) or [(None, 0)]
        draws = next((line for line in drawing if line is not None), None)
        return {"share": sum(before.values()) / max(whole_ns, 1), "line": costliest, "draws": draws}


def _drawing_line(sample: list[tuple[int, int, bool]]) -> int | None:
    return next((line for line, _, draws in sample if draws), None)


def _before_drawing(sample: list[tuple[int, int, bool]]) -> dict[int, int]:
    """ns by line, of those up to the one that draws first."""
    taken: Counter[int] = Counter()
    for line, ns, draws in sample:
        if draws:
            break
        taken[line] += ns
    return dict(taken)
