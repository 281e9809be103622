"""What host events are called in the account of a step: each by the best name there is.

Best first: the user's own line, the user's annotation, the module, the operator, a library's function, the
call of the runtime. A name that holds nearly all of what is asked about tells nothing (`main`, a range around
the whole step): then the next one is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from diagnose.measure.areas.user_code import short_callee
from diagnose.measure.autograd import forward_of
from diagnose.measure.blocks import sum_of_each
from diagnose.measure.selection import Selection
from diagnose.measure.view import Rows
from diagnose.trace.columns import among
from diagnose.trace.distinct import distinct
from diagnose.trace.nesting import innermost, nearest
from diagnose.trace.quirks import BACKWARD_ROOT, FRAME, LOADER_NEXT, MODULE_CALL, PROFILER_STEP

Kind = Literal["line", "annotation", "module", "operator", "function", "call", "kernel", "gap"]

MOST_TOLD = 0.8  # of the time: a name that holds more is no answer to who spends it
# A line that calls one of these is known to every reader: what is inside is asked about.
_PARTS = ("forward", "backward", "optimizer", "tick")
_LOSS = r"(Loss|Similarity|Distance)_\d+$"  # modules that are called as functions are, not parts of a model
_INNER: tuple[Kind, ...] = ("call", "operator", "function")
_PLACES: tuple[Kind, ...] = ("line", "annotation", "module")
# Ranges around a step, and torch's around its wrappers of a model.
_STEP_RANGE = f"{PROFILER_STEP.pattern}|^PyTorch Profiler"
_OURS = r"\bdiagnose/run/child/[\w/]+\.py\("  # frames of what the recorder wraps
_WRAPPER = r"^(Distributed)?DataParallel\.forward$"


class Name(NamedTuple):
    """``line`` is -1 but for a line of the user's; ``backward``: of the work that autograd does for it."""

    kind: Kind
    text: str
    file: str = ""
    line: int = -1
    backward: bool = False


class Level(NamedTuple):
    """A kind of name, and the name that a number stands for."""

    kind: Kind
    name: Callable[[int], Name]
    always: bool = False  # taken even where it holds nearly everything


class Names(NamedTuple):
    """``of``: for each host event the number of its name, -1 for none."""

    of: np.ndarray
    levels: list[Level]

    def told(self) -> np.ndarray:
        """Which events have a name that tells them from most others."""
        always = [number for number, level in enumerate(self.levels) if level.always]
        return (self.of >= 0) & ~np.isin(self.of % len(self.levels), always)

    def of_everything(self, view: Selection) -> np.ndarray:
        """Which events are ranges that hold nearly everything, and so have no better name than their own."""
        is_range = np.asarray(view.kind == "annotation") & ~view.name_matches(_WRAPPER)
        return is_range & (self.of >= 0) & ~self.told()

    def name(self, number: int) -> Name:
        level = self.levels[number % len(self.levels)]
        found = level.name(number // len(self.levels) // 2)
        return found._replace(backward=bool(number // len(self.levels) % 2))


def step_ranges(view: Selection) -> np.ndarray:
    """Which events are ranges around a step, which say nothing of who works in it."""
    around_step = view.name_matches(_STEP_RANGE)
    if view.trace.step_source == "annotation":
        begins_step = np.isin(view.host["start_ns"].to_numpy(), view.trace.steps["start_ns"].to_numpy())
        around_step |= begins_step & view.on_training_thread
    return np.asarray(view.kind == "annotation") & around_step


class Naming:
    """What the host events of a view can be called. Of millions of events that is large, and not kept for
    longer than the account is worked out.
    """

    def __init__(self, view: Selection) -> None:
        self.view = view

    @cached_property
    def around(self) -> Rows:
        """For each host event the innermost one of any kind that encloses it on its thread; -1 if none."""
        start, dur, tid = (self.view.host[column].to_numpy() for column in ("start_ns", "dur_ns", "tid"))
        return innermost(start, dur, np.ones(len(start), bool), tid)

    @cached_property
    def inside(self) -> tuple[np.ndarray, Callable[[int], str]]:
        """For each host event the number of what it is part of, -1 for none, and what a number is called: of
        a call of the runtime the call, else the innermost operator or function.
        """
        last = {level.kind: (level, numbers) for level, numbers in self._numbered}
        levels = [last[kind][0] for kind in _INNER]
        inside = np.full(len(self.view.host), -1, np.int32)
        for position, kind in enumerate(_INNER):
            numbers = last[kind][1]
            chosen = (inside < 0) & (numbers >= 0)
            inside[chosen] = numbers[chosen].astype(np.int32) * len(levels) + position
        return inside, lambda number: levels[number % len(levels)].name(number // len(levels)).text

    def names(self, weight_ns: np.ndarray) -> Names:
        """The names of all host events where each spends ``weight_ns``."""
        levels, forward = [level for level, _ in self._numbered], forward_of(self.view)
        whole = float(weight_ns.sum())
        # what autograd does for a place counts as its own: one around the whole model tells nothing
        with_backward = sum_of_each(forward, weight_ns, len(weight_ns))
        with_backward += weight_ns
        of, place = (np.full(len(self.view.host), -1, np.int32) for _ in range(2))
        nameless = np.arange(len(of), dtype=np.int32)
        for position, ((kind, _, always), numbers) in enumerate(self._numbered):
            chosen = nameless[numbers[nameless] >= 0]
            if not always and len(chosen):
                weights = with_backward if kind in _PLACES else weight_ns
                claims = sum_of_each(numbers, weights, int(numbers.max()) + 1)
                chosen = chosen[claims[numbers[chosen]] <= MOST_TOLD * whole]
            of[chosen] = numbers[chosen].astype(np.int32) * 2 * len(levels) + position
            if kind in _PLACES and not always:
                place[chosen] = of[chosen]
            nameless = nameless[of[nameless] < 0]
        place_of_forward = np.where(forward >= 0, place[forward], -1)
        renamed = (place < 0) & (place_of_forward >= 0)
        of[renamed] = place_of_forward[renamed] + len(levels)
        return Names(of, levels)

    @cached_property
    def _numbered(self) -> list[tuple[Level, np.ndarray]]:
        """Each level with a number for each host event, -1 for none: columns of the smallest integers that
        hold them.
        """
        view = self.view
        rows = np.arange(len(view.host), dtype=np.int32)
        is_op, is_python = np.asarray(view.kind == "op"), np.asarray(view.kind == "python")
        outer, inner = self.around, view.name.codes
        is_module = is_python & view.name_matches(f"^{re.escape(MODULE_CALL)}")
        is_range = np.asarray(view.kind == "annotation") & ~step_ranges(view)
        is_frame = is_python & ~is_module & ~view.name_matches(_OURS)
        is_function = is_frame & view.name_matches(f"^{FRAME.pattern}")

        def named(wanted: np.ndarray) -> np.ndarray:
            found = nearest(wanted, outer, rows)
            return np.where(found >= 0, inner[found], -1)

        whole, innermost_operator = view.outermost_ops(rows), named(is_op)
        operator = np.where(is_op[whole], inner[whole], -1)
        lines, line_name = _lines(view)
        own = np.where(self._is_part(lines, is_module), -1, lines)

        def by(kind: Kind) -> Callable[[int], Name]:
            return lambda number: Name(kind, _text(kind, str(view.name.categories[number])))

        is_call = among(view.kind, ("runtime", "overhead"))
        annotation = named(is_range)
        module, module_name = _classes(view, named(is_module))
        own_range = is_range & ~view.name_matches(_WRAPPER)
        own_annotation = np.where(self._in_closure(own_range), -1, named(own_range))
        waits = np.isin(own_annotation, np.flatnonzero(view.name.categories.str.startswith(LOADER_NEXT)))
        return [
            (Level("line", line_name), own),
            # who takes the batches, whether the wait is all that is asked about or not
            (Level("line", line_name, always=True), np.where(waits, lines, -1)),
            (Level("annotation", by("annotation")), own_annotation),
            (Level("module", module_name), module),
            (Level("operator", by("operator")), operator),
            (Level("operator", by("operator")), innermost_operator),
            (Level("function", by("function")), named(is_function)),
            (Level("annotation", by("annotation"), always=True), annotation),
            (Level("module", module_name, always=True), module),
            (Level("operator", by("operator"), always=True), innermost_operator),
            (Level("line", line_name, always=True), lines),
            (Level("function", by("function"), always=True), named(is_frame)),
            (Level("call", by("call"), always=True), np.where(is_call, inner, -1)),
        ]

    def _in_closure(self, is_range: np.ndarray) -> np.ndarray:
        """Which events are of a forward or backward that an optimizer's step calls: the range around that is
        the innermost of theirs, and no name for them.
        """
        view, rows = self.view, np.arange(len(self.view.host), dtype=np.int32)
        model = view.marked("forward", "backward")
        part, around = (nearest(wanted, self.around, rows) for wanted in (model | is_range, is_range))
        return np.append(model, False)[part] & np.append(view.optimizer_steps, False)[around]

    def _is_part(self, lines: np.ndarray, is_module: np.ndarray) -> np.ndarray:
        """Which events belong to a line that calls a part of the step; a loss is none."""
        view = self.view
        marks, modules = view.marked(*_PARTS), np.flatnonzero(is_module)
        mark, is_loss = nearest(marks, self.around, modules), view.name_matches(_LOSS)[modules]
        calls_loss, calls_other = (
            np.isin(np.arange(len(marks)), mark[(mark >= 0) & which]) for which in (is_loss, ~is_loss)
        )
        parts = np.unique(lines[marks & ~(calls_loss & ~calls_other)])
        return np.isin(lines, parts[parts >= 0])


def _classes(view: Selection, calls: np.ndarray) -> tuple[np.ndarray, Callable[[int], Name]]:
    """Modules by their class: `nn.Module: Linear_3` is a `Linear`. ``calls``: the name's number of each host
    event's module, -1 for none.
    """
    used = distinct(calls[calls >= 0])
    texts = [re.sub(r"_\d+$", "", str(view.name.categories[one])).removeprefix(MODULE_CALL) for one in used]
    classes, of_used = np.unique(np.array(texts, dtype=object), return_inverse=True)
    numbers = np.full(len(view.name.categories) + 1, -1, calls.dtype)
    numbers[used] = of_used
    return numbers[calls], lambda number: Name("module", str(classes[number]))


def _lines(view: Selection) -> tuple[np.ndarray, Callable[[int], Name]]:
    """For each host event the number of its line of the user's code, -1 if unknown."""
    host = view.host
    known = host["line"].to_numpy() >= 0
    table = host.loc[known, ["file", "line", "function"]]
    line = table["line"].to_numpy().astype(np.int64)
    place = table["file"].array.codes.astype(np.int64) * (int(line.max(initial=0)) + 1) + line
    mine, places = pd.factorize(place)
    numbers = np.full(len(host), -1, np.min_scalar_type(-1 - len(places)))
    numbers[known] = mine
    first = np.zeros(len(places), np.int64)
    first[mine[::-1]] = np.arange(len(mine))[::-1]  # of several rows the first one stays

    def name(number: int) -> Name:
        row = table.iloc[first[number]]
        return Name("line", str(row["function"]), str(row["file"]), int(row["line"]))

    return numbers, name


def _text(kind: Kind, name: str) -> str:
    """An event's name for a reader."""
    if name.startswith(LOADER_NEXT):
        return "DataLoader.__next__"
    if kind == "operator":
        return name.removeprefix(BACKWARD_ROOT).removeprefix(": ")
    frame = FRAME.fullmatch(name)
    if kind == "function":
        return f"{frame['file'].rpartition('/')[2]}: {frame['function']}" if frame else short_callee(name)
    return name
