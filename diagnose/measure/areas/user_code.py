"""Own lines: what the script's own lines do beside the model, by what they call; and
the Python that no operator explains.

Calls that the data loader makes while a batch is fetched are not among them:
`diagnose.measure.areas.fetching` is about those.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from diagnose.measure.autograd import operators_with_backward
from diagnose.measure.measured import FactPlace, Measured, Value, metric
from diagnose.measure.missing import NO_SHAPES, NO_STEPS, Missing
from diagnose.measure.recurring import seen_share
from diagnose.measure.selection import SELECTORS, Selection, ledger_row, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, category_matches, once, started_in
from diagnose.trace.distinct import alike, codes_of, first_of
from diagnose.trace.intervals import covered_before, intersect, total
from diagnose.trace.nesting import innermost

# A step's own parts: a call around one of them is the loop's or a step function's, and no line of its own.
STEP_MARKS = ("forward", "backward", "optimizer", "next", "tick")

CallTime = Literal["exposed", "python"]
PLACE = ["file", "line", "function"]
# times the median of the same calls: no longer a slow call, but one that something else interrupted
PAUSE = 20
ENOUGH_ALIKE = 10
IN_C = r"<built-in (?:function|method) (?P<name>\w+)(?: of (?:type|(?P<type>\S+)) object.*)?>"


class Calls(NamedTuple):
    """What a rule is about (`[events]` of its file): see `diagnose.measure.metrics.add_calls`."""

    pattern: str
    meaning: str
    time: CallTime


CALLS: dict[str, Calls] = {}  # by selector


def add_calls(name: str, calls: Calls) -> None:
    """See `diagnose.measure.metrics.add_calls`."""
    CALLS[name] = calls
    attributed = {"exposed": exposed_time, "python": _python_time}[calls.time]
    selector(name, calls.meaning, table="calls", attributed=attributed)(_outside_loader(calls.pattern))
    _in_how_many_steps(name, calls.meaning)


def calls_to(view: Selection, pattern: str) -> Rows:
    """Calls inside complete steps whose callee matches the regular expression."""
    return np.flatnonzero(category_matches(view.calls["callee"].array, pattern) & view.calls_in_steps)


def places_of(view: Selection, rows: Rows) -> list[FactPlace]:
    """The lines that these host events belong to, commonest first, their costs left open."""
    events = view.host[PLACE].iloc[rows]
    lines = events[events["line"] >= 0].groupby(PLACE, observed=True, sort=False).size()
    counted = lines.sort_values(ascending=False, kind="stable").reset_index()
    return [
        FactPlace(str(file), int(line), str(name), count / view.step_count, None)
        for file, line, name, count in counted.to_numpy()
    ]


def loader_time(view: Selection) -> Intervals:
    """While the training thread is inside the data loader's `__next__`."""
    return view.host_intervals(np.flatnonzero(view.loader_next & view.on_training_thread))


def exposed_time(view: Selection, rows: Rows) -> Intervals:
    """The calls' own time; with a GPU, as far as it has nothing to do meanwhile."""
    spans = view.clipped(view.calls, rows)
    return intersect(spans, view.idle) if view.has_device else spans


def _python_time(view: Selection, rows: Rows) -> Intervals:
    """The calls' time in which no operator runs and no value is read: printing a tensor is
    another rule's, an array is copied by one.
    """
    return intersect(view.clipped(view.calls, rows), view.ledger.rows.get("python", NO_INTERVALS))


def _outside_loader(pattern: str) -> Callable[[Selection], Rows]:
    def rows(view: Selection) -> Rows:
        found = calls_to(view, pattern)
        return found[~started_in(view.calls.iloc[found], loader_time(view))]

    return rows


def steps_of(view: Selection, start_ns: np.ndarray) -> np.ndarray:
    """The number, from 0, of the complete step in which each of these events starts."""
    return np.searchsorted(view.host_windows[:, 0], start_ns, side="right") - 1


def _steps_share(name: str) -> Callable[[Measured], Value | Missing]:
    """Twenty calls at an epoch's end are no habit of every step: it is the steps that count. Of steps that
    come in periods, one in each period is a habit. Where looks at the plain steps, which are many more, saw
    the lines in a larger share of them, it is that.
    """

    def value(measured: Measured) -> Value | Missing:
        chosen = SELECTORS[name]
        view, unknown = measured.view(chosen), measured.metric(f"{name}_count_per_step")
        if view is None or isinstance(unknown, Missing):
            return unknown if isinstance(unknown, Missing) else NO_STEPS
        table = view.calls if chosen.table == "calls" else view.host
        called = table.iloc[measured.rows(chosen)]
        steps = np.unique(steps_of(view, called["start_ns"].to_numpy()))
        period = measured.plain_steps.period if measured.plain_steps is not None else 1
        lines = {(str(file), int(line)) for file, line in zip(called["file"], called["line"], strict=True)}
        return max(min(1.0, len(steps) * period / view.step_count), seen_share(measured.recording, lines))

    return value


def _in_how_many_steps(name: str, meaning: str) -> None:
    metric(f"{name}_steps_share", "share", f"Share of the recorded steps with {meaning}")(_steps_share(name))


@once
def lines_of_every_step(view: Selection) -> set[tuple[str, int]]:
    """The script's lines (file, line) that make a call in each of the recorded steps; none of a single step,
    which tells no difference.
    """
    calls = view.calls[view.calls_in_steps]
    if view.step_count < 2 or not len(calls):
        return set()
    step = steps_of(view, calls["start_ns"].to_numpy())
    counts = calls.assign(step=step).groupby(["file", "line"], observed=True)["step"].nunique()
    return {(str(file), int(line)) for file, line in counts.index[counts == view.step_count]}


def self_ns(view: Selection, within: Intervals) -> np.ndarray:
    """Per call, ns: its time inside ``within`` that lies in no other call of the script's own lines."""
    calls = view.calls
    start, dur = (calls[name].to_numpy() for name in ("start_ns", "dur_ns"))
    covered = covered_before(within, start + dur) - covered_before(within, start)
    around = innermost(start, dur, np.ones(len(calls), bool), np.zeros(len(calls), np.int64))
    nested = around >= 0
    return covered - np.bincount(around[nested], weights=covered[nested], minlength=len(calls)).astype(
        np.int64
    )


@dataclass(frozen=True)
class LineTime:
    """A line's time in the detail phase, as a share of all the time that was asked about; ``callee`` takes
    most of it.
    """

    file: str
    line: int
    function: str
    count_per_step: float
    share: float
    typical_share: (
        float  # the same if every step took what the median step does (of two, the shorter): no chance delay
    )
    callee: str

    def place(self, whole_ms: float) -> FactPlace:
        """As a culprit, where all that time is ``whole_ms`` per plain step."""
        return FactPlace(self.file, self.line, self.function, self.count_per_step, self.share * whole_ms)


def line_times(view: Selection, rows: Rows, within: Intervals) -> list[LineTime]:
    """The lines that make these calls by their own time inside ``within``, costliest first."""
    return by_line(view, rows, self_ns(view, within)[rows], total(within))


def by_line(view: Selection, rows: Rows, cost: np.ndarray, whole: float) -> list[LineTime]:
    """The lines that make these calls, costliest first. ``cost``: of each call, in the unit of ``whole``."""
    place = alike(*(codes_of(view.calls[name])[rows] for name in PLACE))
    callee = alike(place, codes_of(view.calls["callee"])[rows])  # of each place apart
    undelayed = _undelayed(callee, cost)
    whole -= float(cost.sum() - undelayed.sum())
    if whole <= 0 or not len(rows):
        return []
    step = steps_of(view, view.calls["start_ns"].to_numpy()[rows])
    by_step = np.zeros((int(place.max()) + 1, view.step_count))
    np.add.at(by_step, (place, step), undelayed)
    steps = np.sort(by_step, axis=1)
    shares, typical = (
        steps.sum(axis=1) / whole,
        steps[:, (view.step_count - 1) // 2] * view.step_count / whole,
    )
    counts = np.bincount(place) / view.step_count
    first = first_of(callee)
    costliest_first = first[np.lexsort((-np.bincount(callee, undelayed), place[first]))]
    most = costliest_first[np.searchsorted(place[costliest_first], np.arange(len(counts)))]  # of each place
    found = []
    for at in np.argsort(-shares, kind="stable").tolist():
        if shares[at] > 0:
            row = int(rows[most[at]])
            file, line, function, called = (view.calls[name].iloc[row] for name in (*PLACE, "callee"))
            times = (float(counts[at]), float(shares[at]), float(typical[at]))
            found.append(LineTime(str(file), int(line), str(function), *times, str(called)))
    return found


def _undelayed(alike_calls: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Each call's cost, of one that takes far longer than its like (the same number) only what is credible:
    the rest is a pause that fell into it.
    """
    count = np.bincount(alike_calls)
    ordered, begin = cost[np.lexsort((cost, alike_calls))], np.cumsum(count) - count
    usual = (ordered[begin + (count - 1) // 2] + ordered[begin + count // 2]) / 2
    credible = np.where(count >= ENOUGH_ALIKE, PAUSE * usual, np.inf)
    return np.minimum(cost, credible[alike_calls])


def short_callee(callee: str) -> str:
    """For a reader: ``numpy: median`` of a library, ``train.py: count`` of the script's own,
    ``sleep`` and ``list.append`` of C functions.
    """
    path, found, function = callee.partition(".py: ")
    if not found:
        in_c = re.fullmatch(IN_C, callee)
        return ".".join(filter(None, [in_c["type"], in_c["name"]])) if in_c else callee
    return (
        f"{path.rpartition('/')[2]}.py: {function}"
        if path.startswith("/")
        else f"{path.partition('/')[0]}: {function}"
    )


@selector(
    "python_time", "Python, or waiting outside torch (no operator runs)", attributed=ledger_row("python")
)
def _between_operators(view: Selection) -> Rows:
    return np.empty(0, np.int64)  # what runs then is no event of the trace


@metric("own_calls_known", "yes/no", "The calls in your code were recorded (never in a trace)")
def _own_calls_known(measured: Measured) -> Value | Missing:
    return measured.detail is not None and len(measured.detail.calls) > 0


@metric("python_frames_known", "yes/no", "Python's own calls were recorded (`with_stack=True`)")
def _python_frames_known(measured: Measured) -> Value | Missing:
    view = measured.timeline
    return NO_STEPS if view is None else bool((np.asarray(view.kind == "python") & view.in_steps).any())


@metric("steps_marked", "yes/no", "Marks or the optimizer show where steps start and end")
def _steps_marked(measured: Measured) -> Value | Missing:
    trace = measured.recording.timeline
    return NO_STEPS if trace is None else trace.step_source not in ("repetition", "whole trace")


# ---- forwards that train nothing


def _untrained_time(view: Selection, rows: Rows) -> Intervals:
    """The forwards' time; with a GPU, that of the kernels they launch."""
    spans = view.host_intervals(rows)
    if not view.has_device:
        return spans
    launch = view.device["launch"].to_numpy()
    launched = np.flatnonzero((launch >= 0) & started_in(view.host, spans)[launch])
    return SELECTORS["kernels"].attributed(view, launched)


@selector(
    "untrained_forwards",
    "outermost calls of the model without a backward, in a training loop",
    attributed=_untrained_time,
)
def _untrained_forwards(view: Selection) -> Rows:
    trained, untrained = model_forwards(view)
    return untrained if len(trained) else trained


def model_forwards(view: Selection) -> tuple[Rows, Rows]:
    """Those with a backward and those without."""
    forwards = view.named(view.marked("forward") & view.on_training_thread)
    has_backward = _next_among(view, operators_with_backward(view), forwards) >= 0
    return forwards[has_backward], forwards[~has_backward]


def _next_among(view: Selection, rows: Rows, around: Rows) -> Rows:
    """For each event of ``around`` the first of the (sorted) rows that starts inside it; -1 if none does."""
    start = view.host["start_ns"].to_numpy()  # the table is sorted by start
    first = np.searchsorted(rows, around, side="right")
    found = rows[np.minimum(first, len(rows) - 1)] if len(rows) else np.full(len(around), -1)
    inside = (first < len(rows)) & (start[found] < start[around] + view.host["dur_ns"].to_numpy()[around])
    return np.where(inside, found, -1)


@metric(
    "untrained_batch_ratio", "ratio", "Largest batch of these model calls ÷ the median batch of trained ones"
)
def _untrained_batch_ratio(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    trained, untrained = (_batch_sizes(view, rows) for rows in model_forwards(view))
    return (
        NO_SHAPES if not len(trained) or not len(untrained) else float(untrained.max() / np.median(trained))
    )


def _batch_sizes(view: Selection, forwards: Rows) -> np.ndarray:
    """The first dimension of what the first operator inside each forward is given, as far as that is
    known.
    """
    shapes = view.host["shapes"]
    first = _next_among(view, np.flatnonzero((shapes != "").to_numpy()), forwards)
    found = (re.search(r"\[(\d+)", str(text)) for text in shapes.iloc[first[first >= 0]])
    return np.array([int(one[1]) for one in found if one])


_in_how_many_steps("untrained_forwards", "these model calls")


@metric("untrained_feed_training", "yes/no", "These calls make what the training is given (no if unknown)")
def _untrained_feed_training(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    _, untrained = model_forwards(view)
    lines = view.host[["file", "line"]].iloc[untrained]
    return len(lines) > 0 and set(lines.itertuples(index=False, name=None)) <= lines_trained_on(measured)


def lines_trained_on(measured: Measured) -> set[tuple[str, int]]:
    """The lines (file, line) that make what is trained on, as far as the look at the dataflow tells."""
    told = measured.recording.facts.get("dataflow") or {}
    return {(place["file"], place["line"]) for place in told.get("trained_on", [])}


@metric("model_count", "count", "Number of models with parameters that the recorded steps called")
def _model_count(measured: Measured) -> Value | Missing:
    models = measured.fact("models")
    return models if isinstance(models, Missing) else len(models)
