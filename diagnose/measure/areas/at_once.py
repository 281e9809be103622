"""Calls in Python loops that could be one (`diagnose.run.child.dataflow`), and what one for all rounds would
leave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from diagnose.measure.areas.operators import dispatched_work
from diagnose.measure.areas.user_code import places_of
from diagnose.measure.lines import backward_of_lines, forward_of_lines
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_CALLS_SEEN, Missing
from diagnose.measure.selection import Selection
from diagnose.measure.told_calls import dataflow
from diagnose.measure.traced_lines import own_times
from diagnose.measure.view import NO_ROWS, Rows, once

# What a call on a small tensor takes whatever its size, forward and backward with Python between them: in
# additions of four numbers, as the run measured one (`python -m benchmarks call-costs`: 4 to 10, a layer
# 25); in ms where it measured none (0.012 to 0.025 on two cores of an EPYC)
FIXED_ADDITIONS, FIXED_MS = 10, 0.015
# they take a row; their backward fills a tensor as large as the whole with zeros
ROW_BACKWARD = r"\b(Select|Slice|Index|Narrow|Unbind)Backward\d"


WORTH_REWRITING = 0.08  # of the step: what one call for all rounds must save (`loop-to-batch`)


class Loop(NamedTuple):
    place: FactPlace
    left: float  # of its time, if all rounds are one call
    differs: float  # of its time, what is of rounds that differ in size

    @property
    def ms(self) -> float:
        """A step."""
        return self.place.ms_per_step or 0.0


@once
def loops_at_once(measured: Measured) -> list[Loop] | Missing:
    told, view = dataflow(measured), measured.detail
    if isinstance(told, Missing):
        return told
    if view is None:
        return NO_CALLS_SEEN
    backward = backward_of_lines(view)
    rounds = [
        (line.get("loop") or line, loop)
        for line in told["at_once"]
        if (loop := _loop(measured, view, line, backward.get((line["file"], line["line"]), NO_ROWS)))
    ]
    return _by_loop(rounds)


def _by_loop(rounds: list[tuple[dict[str, Any], Loop]]) -> list[Loop]:
    """By the line in the loop that leads to what its rounds do, costliest first: all that is to be one call
    at once, in whichever functions.
    """
    found: dict[tuple[str, int, str], list[Loop]] = defaultdict(list)
    for line, loop in rounds:
        found[line["file"], line["line"], line["function"]].append(loop)
    loops = [
        together(FactPlace(*place, max(part.place.count_per_step or 0.0 for part in parts), None), parts)
        for place, parts in found.items()
    ]
    return sorted(loops, key=lambda loop: -loop.ms)


def together(place: FactPlace, parts: Sequence[Loop]) -> Loop:
    """All of them, at that place."""
    whole_ms = sum(part.ms for part in parts)
    left_ms = sum(part.ms * part.left for part in parts)
    differs_ms = sum(part.ms * part.differs for part in parts)
    return Loop(replace(place, ms_per_step=whole_ms), left_ms / whole_ms, differs_ms / whole_ms)


def _loop(measured: Measured, view: Selection, line: dict[str, Any], backward: Rows) -> Loop | None:
    """The part of the line's time that is of such calls, of which one pays the fixed cost once, and none
    takes a row; of products what a trial says is left. None where it takes no time.

    The forward is all that the line takes, with Python between its calls, where lines were timed.
    """
    part = line["ns"] / max(line["line_ns"], 1)
    rows_ms, other_ms, forward_ms = (
        measured.detail_ms(dispatched_work(view, rows)) * part
        for rows in (
            backward[view.name_matches(ROW_BACKWARD)[backward]],
            backward[~view.name_matches(ROW_BACKWARD)[backward]],
            forward_of_lines(view).get((line["file"], line["line"]), NO_ROWS),
        )
    )
    own = own_times(measured).get((line["file"], line["line"]))
    if own is not None:
        forward_ms = max(forward_ms, own.ms * part)
    whole_ms = rows_ms + other_ms + forward_ms
    if whole_ms <= 0:
        return None
    product_ns, product_count = line.get("product_ns", 0), line.get("product_count", 0)
    products_ms = (other_ms + forward_ms) * product_ns / max(line["ns"], 1)
    left_ms = products_ms * line.get("product_left_ns", 0) / max(product_ns, 1)
    rest_ms, rest_count = other_ms + forward_ms - products_ms, line["call_count"] - product_count
    if rest_ms > 0 and rest_count:
        calls_left = line.get("group_count", line["call_count"] / line["rounds"]) / line["call_count"]
        left_ms += rest_ms * max(calls_left, 1 - fixed_ms(measured) * rest_count / rest_ms)
    place = FactPlace(line["file"], line["line"], line["function"], float(line["rounds"]), whole_ms)
    return Loop(place, left_ms / whole_ms, line.get("sizes_differ_ns", 0) / max(line["ns"], 1))


def fixed_ms(measured: Measured) -> float:
    call_ns = (measured.recording.facts.get("profiler_costs") or {}).get("call_ns")
    return FIXED_ADDITIONS * call_ns / 1e6 if call_ns else FIXED_MS


@fact_selector("calls_at_once", "calls in a Python loop that do not need each other's results")
def _calls_at_once(measured: Measured) -> list[FactPlace] | Missing:
    loops = loops_at_once(measured)
    return loops if isinstance(loops, Missing) else [loop.place for loop in loops]


@metric("calls_at_once_left", "share", "Share of the time of these loops that one call for all rounds leaves")
def _calls_at_once_left(measured: Measured) -> Value | Missing:
    loops = loops_at_once(measured)
    return loops if isinstance(loops, Missing) else share_left(loops)


def share_left(loops: Sequence[Loop]) -> float | Missing:
    """Of the time of all."""
    whole_ms = sum(loop.ms for loop in loops)
    left_ms = sum(loop.ms * loop.left for loop in loops)
    return min(1.0, left_ms / whole_ms) if whole_ms else Missing("no such loop was seen")


@metric("calls_at_once_gain_share", "share", "Share of the step that one call for all rounds saves")
def _calls_at_once_gain_share(measured: Measured) -> Value | Missing:
    loops = loops_at_once(measured)
    return loops if isinstance(loops, Missing) else saved_ms(loops) / measured.number("step_ms")


def saved_ms(loops: Sequence[Loop]) -> float:
    return sum(loop.ms * (1 - loop.left) for loop in loops)


@metric(
    "calls_at_once_sizes_differ", "yes/no", "Rounds of the costliest loop give results of differing sizes"
)
def _calls_at_once_sizes_differ(measured: Measured) -> Value | Missing:
    loops = loops_at_once(measured)
    return not isinstance(loops, Missing) and bool(loops) and loops[0].differs > 0.5


@metric("small_ops_are_rounds", "yes/no", "Most tiny operators are rounds of a loop that could be one call")
def _small_ops_are_rounds(measured: Measured) -> Value | Missing:
    """Not where that was not recorded."""
    is_worth_it = measured.number("calls_at_once_gain_share") >= WORTH_REWRITING
    return is_worth_it and 2 * measured.number("calls_at_once_ms") > measured.number("small_ops_ms")


@metric(
    "forwards_need_each_other", "yes/no", "Calls of the model need what earlier ones computed in the step"
)
def _forwards_need_each_other(measured: Measured) -> Value | Missing:
    """By the lines that call it; not where that was not recorded."""
    told, view = dataflow(measured), measured.timeline
    if isinstance(told, Missing) or view is None:
        return False
    called = places_of(view, view.named(view.marked("forward") & view.on_training_thread))
    lines = {(place.file, place.line) for place in called}
    under = [line for line in told.get("around", []) if (line["file"], line["line"]) in lines]
    independent_ns = sum(line["independent_ns"] for line in under)
    return 2 * independent_ns < sum(line["ns"] for line in under)
