"""The lines of the user's own code beside the model that take most of a step, whatever they call; and the
Python that is left.

A line's time is that of all it calls. Where one line inside it does nearly all of that, this line is meant;
where it does most, both are told apart. So it is with a loop inside it, told by the line that begins it, and
with lines inside that take their time without a call.
Where several lines share the time otherwise, it is the line that calls them; where that one calls the model
as well, it is they. What a line does without a call is known where lines were timed by themselves
(`diagnose.measure.traced_lines`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from diagnose.measure.areas.calls_beside import (
    callers,
    calls_beside,
    calls_within,
    cost_ms_of_calls,
    is_outermost,
    of_other_rules,
    time_beside,
)
from diagnose.measure.areas.drawn_lines import always_new
from diagnose.measure.areas.user_code import STEP_MARKS, LineTime, by_line, line_times, short_callee
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_CALLS_SEEN, Missing
from diagnose.measure.selection import Selection
from diagnose.measure.sources import Sources
from diagnose.measure.traced_lines import NO_CALL, Line, own_times, python_ms
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows, category_matches, once, started_in
from diagnose.trace.intervals import subtract, total

LEAST = 0.05  # of the step: the rules' own threshold
SHORT = 0.02  # of the step: a line of a function whose lines take `LEAST` together
OWN_FUNCTION = r"^(?:/|<ipython-input)"  # a callee of the script's own, whose lines are timed by themselves
# a function of its own, on the line that calls it (up to Python 3.11; generators always)
COMPREHENSION = r": <(?:(?:list|set|dict)comp|genexpr)>$"
# of a line's time: a line inside that takes more is told by itself, is what is meant
MOST, NEARLY_ALL = 0.5, 0.8
# observation, reward, end = environment.step(action); results = [env.step(action) for env, action in …]
ENVIRONMENT = r"^\s*\w+, *\w+.*= *[\w.\[\]]+\.step\(\w|\benv(?:ironment)?s?(?:\[\w+\])?\.step\(\w"


@fact_selector("own_lines", "lines of your code beside the model that take 5 % of the step or more")
def _own_lines(measured: Measured) -> list[FactPlace] | Missing:
    lines = _lines_to_mend(measured)
    if isinstance(lines, Missing):
        return lines
    return [line.place(measured.number("step_ms")) for line, _ in lines]


@metric(
    "own_line_share",
    "share",
    "Share of the step that the costliest of these lines takes, or those of one function that is called",
)
def _own_line_share(measured: Measured) -> Value | Missing:
    lines, view = _lines_to_mend(measured), measured.detail
    if isinstance(lines, Missing) or view is None:
        return NO_CALLS_SEEN
    shares: dict[tuple[str, str, int], float] = defaultdict(float)
    for line, _ in lines:
        together = f"{line.file}: {line.function}" in _helpers(view)
        shares[line.file, line.function, -1 if together else line.line] += line.share
    return max(shares.values(), default=0.0)


@metric("own_lines_callee", "", "Costliest function that the costliest of these lines calls")
def _own_lines_callee(measured: Measured) -> Value | Missing:
    lines = _lines_to_mend(measured)
    if isinstance(lines, Missing):
        return lines
    return (
        short_callee(lines[0][0].callee)
        if lines
        else Missing("no line of your code beside the model takes 5 % of the step")
    )


@once
def _lines_to_mend(measured: Measured) -> list[tuple[LineTime, Rows]] | Missing:
    """Without those that step an environment, or hand on the call inside one: simulating takes time, which is
    spread over lines; and without those that do nothing but draw batches anew where no core is free.
    """
    lines, view = own_lines(measured), measured.detail
    if isinstance(lines, Missing) or view is None:
        return lines
    drawn_ms, step_ms = always_new(measured), measured.number("step_ms")
    stepping = _calls_of_environments(view, Sources(measured.recording))
    simulated = view.clipped(view.calls, stepping)

    def simulates(line: LineTime, calls: Rows) -> bool:
        inside = started_in(view.calls.iloc[calls], simulated)
        hands_on = re.search(OWN_FUNCTION, line.callee) is not None
        return bool(np.isin(calls, stepping).any() or (hands_on and len(calls) and inside.all()))

    def draws(line: LineTime) -> bool:
        return drawn_ms.get((line.file, line.line), 0.0) >= MOST * line.share * step_ms

    return [(line, calls) for line, calls in lines if not simulates(line, calls) and not draws(line)]


def _calls_of_environments(view: Selection, sources: Sources) -> Rows:
    files, numbers = view.calls["file"].astype(str), view.calls["line"]
    lines = set(zip(files, numbers, strict=True))
    found = {line for line in lines if re.search(ENVIRONMENT, sources.line(*line))}
    return np.flatnonzero([line in found for line in zip(files, numbers, strict=True)])


@fact_selector("other_python", "Python that neither other rules nor the costliest lines explain")
def _other_python(measured: Measured) -> list[FactPlace] | Missing:
    lines, view = own_lines(measured), measured.detail
    if isinstance(lines, Missing) or view is None:
        return NO_CALLS_SEEN
    whole = total(view.ledger.rows.get("python", NO_INTERVALS))
    if not whole:
        return []
    known = view.clipped(view.calls, np.concatenate([NO_ROWS, *(rows for _, rows in lines)]))
    left = subtract(time_beside(measured, view, "python"), known)
    quiet_ms = without_calls_ms(measured)
    told_ms = sum(quiet_ms.get((line.file, line.line), 0.0) for line, _ in lines)
    left_ms = max(0.0, total(left) / whole * measured.row_ms("python") - told_ms)
    named = [
        replace(line, share=line.typical_share).place(left_ms)
        for line in line_times(view, calls_beside(measured, view), left)
    ]
    elsewhere_ms = left_ms - sum(place.ms_per_step or 0.0 for place in named)
    return [*named, FactPlace("", -1, "", 0.0, max(elsewhere_ms, 0.0))]


def python_line(measured: Measured) -> LineTime | None:
    """The line beside the model with the most Python time; None where none is known."""
    view = measured.detail
    if view is None or not len(view.calls):
        return None
    lines = line_times(view, calls_beside(measured, view), time_beside(measured, view, "python"))
    return next(iter(lines), None)


@once
def own_lines(measured: Measured) -> list[tuple[LineTime, Rows]] | Missing:
    """These lines, costliest first, with their calls; ``share`` is of the step."""
    view = measured.detail
    if view is None or not len(view.calls):
        return NO_CALLS_SEEN
    rows, cost_ms = calls_beside(measured, view), cost_ms_of_calls(measured, view)
    whole_ms = measured.number("step_ms")
    own = np.zeros(len(view.calls), bool)
    own[rows] = True
    around = callers(view)
    tops = rows[~np.append(own, False)[around[rows]]]
    found = _costliest(view, tops, cost_ms, whole_ms)
    # a line that several others call may cost more than each of them
    left = rows[~started_in(view.calls.iloc[rows], _inside(view, found))]
    nested = around >= 0
    self_ms = cost_ms - np.bincount(around[nested], cost_ms[nested], minlength=len(cost_ms))
    found += _costly(view, left, self_ms, whole_ms)
    found = _with_what_no_call_is(found, measured, view)
    short = _short_lines(found, left, self_ms, measured, view)
    parts = [part for line, calls in found for part in _with_loop(line, calls, measured, cost_ms)]
    parts = [part for line, calls in parts for part in _with_quiet_lines(line, calls, measured)]
    by_place = {(line.file, line.line): (line, calls) for line, calls in [*parts, *short]}
    return sorted(by_place.values(), key=lambda one: -one[0].share)


def _inside(view: Selection, found: list[tuple[LineTime, Rows]]) -> Intervals:
    """While one of these lines' calls runs."""
    return view.clipped(view.calls, np.concatenate([NO_ROWS, *(calls for _, calls in found)]))


def _with_what_no_call_is(
    found: list[tuple[LineTime, Rows]], measured: Measured, view: Selection
) -> list[tuple[LineTime, Rows]]:
    """These lines with the Python that they spend in no call, and others that spend `LEAST` of the step so,
    unless they stand in functions that these lines call.
    """
    whole_ms, quiet_ms = measured.number("step_ms"), dict(without_calls_ms(measured))
    longer = [
        (_longer(line, quiet_ms.pop((line.file, line.line), 0.0) / whole_ms), calls) for line, calls in found
    ]
    calls = view.calls[view.calls_in_steps]
    inside = started_in(calls, _inside(view, found))
    callees = calls["callee"].astype(str)
    called_inside = set(callees[inside]) - set(callees[~inside])
    for (file, number), ms in quiet_ms.items():
        time = own_times(measured)[file, number]
        is_inside = f"{file}: {time.function}" in called_inside
        if ms >= LEAST * whole_ms and time.ms == time.beside_ms and not is_inside:
            share = ms / whole_ms
            line = LineTime(file, number, time.function, time.count_per_step, share, share, NO_CALL)
            longer.append((line, NO_ROWS))
    return longer


def _short_lines(
    found: list[tuple[LineTime, Rows]], left: Rows, self_ms: np.ndarray, measured: Measured, view: Selection
) -> list[tuple[LineTime, Rows]]:
    """Others that are short each, of functions in which they take `LEAST` together. ``left``: calls that are
    none of these lines'.
    """
    whole_ms, quiet_ms = measured.number("step_ms"), without_calls_ms(measured)
    known, helpers = {(line.file, line.line) for line, _ in found}, _helpers(view)
    by_function: dict[tuple[str, str], list[LineTime]] = defaultdict(list)
    for line in by_line(view, left, self_ms[left], whole_ms):
        quiet = quiet_ms.get((line.file, line.line), 0.0) / whole_ms
        whole = replace(_longer(line, quiet), share=line.typical_share + quiet)
        is_known = (line.file, line.line) in known
        if whole.share >= SHORT and not is_known and f"{line.file}: {line.function}" in helpers:
            by_function[line.file, line.function].append(whole)
    return [
        (line, NO_ROWS)
        for lines in by_function.values()
        if len(lines) > 1 and sum(line.share for line in lines) >= LEAST
        for line in lines
    ]


@once
def _helpers(view: Selection) -> set[str]:
    """The script's functions that are called and do no part of the step, as callees: "file: name". Lines of
    one that does a part have little in common.
    """
    parts = view.host.loc[view.marked(*STEP_MARKS), ["file", "function"]].astype(str)
    return set(view.calls["callee"].astype(str)) - set(parts["file"] + ": " + parts["function"])


def _longer(line: LineTime, share: float) -> LineTime:
    return replace(line, share=line.share + share, typical_share=line.typical_share + share)


@once
def without_calls_ms(measured: Measured) -> dict[Line, float]:
    """Of each line the Python of a plain step that no call of a library takes; empty where lines were not
    timed. Lines with a call that another rule is about are that rule's.
    """
    view, own_ms = measured.detail, python_ms(measured)
    if view is None or not own_ms:
        return {}
    theirs = view.calls[category_matches(view.calls["callee"].array, of_other_rules())]
    told = set(zip(theirs["file"].astype(str), theirs["line"].tolist(), strict=True))
    own_ms = {line: ms for line, ms in own_ms.items() if line not in told}
    row_ms = measured.row_ms("python")
    python = view.ledger.rows.get("python", NO_INTERVALS)
    callee = view.calls["callee"].array
    of_others = ~category_matches(callee, OWN_FUNCTION) | category_matches(callee, COMPREHENSION)
    in_calls = line_times(view, np.flatnonzero(view.calls_in_steps & of_others), python)
    of_calls: dict[Line, float] = defaultdict(float)  # its comprehensions' calls are of the line, too
    for line in in_calls:
        of_calls[line.file, line.line] += line.share * row_ms
    return {line: ms - of_calls[line] for line, ms in own_ms.items() if ms > of_calls[line]}


def _costliest(
    view: Selection, rows: Rows, cost_ms: np.ndarray, whole_ms: float
) -> list[tuple[LineTime, Rows]]:
    """The costly lines that make these calls, and those inside that take most of one."""
    return [
        part
        for line, calls in _costly(view, rows, cost_ms, whole_ms)
        for part in _parts(line, calls, view, cost_ms, whole_ms)
    ]


def _parts(
    line: LineTime, calls: Rows, view: Selection, cost_ms: np.ndarray, whole_ms: float
) -> list[tuple[LineTime, Rows]]:
    """The line, or the one inside that takes most of its time, by whatever way it comes there, with what is
    left for the line itself; nothing is where that is nearly all.
    """
    within = calls_within(view, calls)
    inside = _costly(view, within[is_outermost(view)[within]], cost_ms, whole_ms)
    if not inside or inside[0][0].share <= MOST * line.share:
        return [(line, calls)]
    inner = inside[0]
    return [*_parts(*inner, view, cost_ms, whole_ms), *_left(line, calls, inner[0].share)]


def _left(line: LineTime, calls: Rows, inner_share: float) -> list[tuple[LineTime, Rows]]:
    """The line with what something inside it leaves; none where that is not worth telling."""
    left = line.share - inner_share
    is_told = inner_share < NEARLY_ALL * line.share and left >= LEAST
    return [(replace(line, share=left, typical_share=left), calls)] if is_told else []


def _with_loop(
    line: LineTime, calls: Rows, measured: Measured, cost_ms: np.ndarray
) -> list[tuple[LineTime, Rows]]:
    """The line, or the loop inside that takes most of its time, with what is left for the line itself. Of
    loops in one another it is the inmost that does.
    """
    loops = [
        (loop, rows)
        for loop, rows in _loops_inside(line, calls, measured, cost_ms)
        if loop.share > MOST * line.share
    ]
    if not loops:
        return [(line, calls)]
    loop, rows = max(loops, key=lambda one: (one[0].share >= NEARLY_ALL * line.share, one[0].line))
    return [(loop, rows), *_left(line, calls, loop.share)]


def _with_quiet_lines(line: LineTime, calls: Rows, measured: Measured) -> list[tuple[LineTime, Rows]]:
    """The line, or those in the functions that it calls, in no loop, which take most of its time without a
    call, with what is left for the line itself.
    """
    times, quiet_ms, whole_ms = own_times(measured), without_calls_ms(measured), measured.number("step_ms")
    sources = Sources(measured.recording)
    inside = []
    for file, number in _lines_called(line, calls, measured):
        share = quiet_ms.get((file, number), 0.0) / whole_ms
        in_loop = any(first <= number <= last for first, last in sources.loops(file))
        if share >= LEAST and not in_loop and (file, number) != (line.file, line.line):
            time = times[file, number]
            called = LineTime(file, number, time.function, time.count_per_step, share, share, NO_CALL)
            inside.append((called, NO_ROWS))
    inside_share = sum(called.share for called, _ in inside)
    if inside_share <= MOST * line.share:
        return [(line, calls)]
    return [*inside, *_left(line, calls, inside_share)]


def _lines_called(line: LineTime, calls: Rows, measured: Measured) -> list[Line]:
    """The lines of the functions that the line calls. None where lines were not timed by themselves."""
    view, times = measured.detail, own_times(measured)
    if view is None or not times:
        return []
    callees = {line.callee, *view.calls["callee"].iloc[calls_within(view, calls)].astype(str)}
    return [place for place, time in times.items() if f"{place[0]}: {time.function}" in callees]


def _loops_inside(
    line: LineTime, of_line: Rows, measured: Measured, cost_ms: np.ndarray
) -> Iterator[tuple[LineTime, Rows]]:
    """The loops in the functions that the line calls, with the calls that their lines make. None where lines
    were not timed by themselves.
    """
    view, times, quiet_ms = measured.detail, own_times(measured), without_calls_ms(measured)
    lines = _lines_called(line, of_line, measured)
    if view is None or not lines:
        return
    sources, whole_ms = Sources(measured.recording), measured.number("step_ms")
    within, around = calls_within(view, of_line), callers(view)
    calls = view.calls.iloc[within]
    for path in {path for path, _ in lines}:
        for first, last in sources.loops(path):
            of_loop = [place for place in lines if place[0] == path and first <= place[1] <= last]
            rows = within[((calls["file"] == path) & calls["line"].between(first, last)).to_numpy()]
            if of_loop:
                outermost = rows[~np.isin(around[rows], rows)]
                ms = cost_ms[outermost].sum() + sum(quiet_ms.get(place, 0.0) for place in of_loop)
                share = min(line.share, float(ms) / whole_ms)
                called = by_line(view, outermost, cost_ms[outermost], whole_ms)
                yield (
                    replace(
                        line,
                        line=first,
                        file=path,
                        function=times[of_loop[0]].function,
                        share=share,
                        typical_share=share,
                        callee=called[0].callee if called else NO_CALL,
                    ),
                    rows,
                )


def _costly(view: Selection, rows: Rows, cost_ms: np.ndarray, whole_ms: float) -> list[tuple[LineTime, Rows]]:
    """The lines that make these calls and take `LEAST` of the step, costliest first, with the calls.

    What a line takes in the median step counts: it is to be worth it in most steps.
    """
    calls = view.calls.iloc[rows]
    file, number = (calls[name].to_numpy() for name in ("file", "line"))
    return [
        (replace(line, share=line.typical_share), rows[(file == line.file) & (number == line.line)])
        for line in by_line(view, rows, cost_ms[rows], whole_ms)
        if line.typical_share >= LEAST
    ]
