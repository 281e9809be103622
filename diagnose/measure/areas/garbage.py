"""Python's garbage collector: what it takes of the plain steps, and where it was recorded."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.input_rhythm import at_epoch_ends
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import Missing, known
from diagnose.measure.periods import SLOW_STEP
from diagnose.measure.view import NO_ROWS

RATE_OF, RATE_OF_CALLED = 4, 2  # pauses from which there is a rate; of those that a line calls


def _rare_pauses_ms(measured: Measured) -> float:
    """What collections take that make their steps untypical, ms of the average step: the typical one is
    without them.
    """
    collector, untypical_ms = known(measured.fact("gc")), measured.number("untypical_ms")
    makes_untypical = collector["longest_ms"] >= (SLOW_STEP - 1) * measured.number("step_ms")
    return float(min(collector["ms_per_step"], untypical_ms)) if makes_untypical and untypical_ms > 0 else 0.0


def _between_epochs_ms(measured: Measured) -> float:
    """What collections take where epochs end, ms of the average step: what is done there makes the objects,
    and is told by itself.
    """
    pauses, phase = known(measured.fact("gc")).get("pauses", []), measured.recording.phase("plain")
    if not pauses or phase is None:
        return 0.0
    begin_ns, took_ns = np.array(pauses, np.int64).T
    ends = at_epoch_ends(measured)
    borders = np.asarray(phase["tick_ns"][:: measured.recording.ticks_per_step], np.int64)
    step = np.searchsorted(borders, begin_ns, side="right") - 1
    inside = (step >= 0) & (step < len(ends))
    return float(took_ns[inside][ends[step[inside]]].sum()) / 1e6 / len(ends) if len(ends) else 0.0


@metric("gc_longest_share", "share", "Share of the collections' time that the longest one takes")
def _gc_longest_share(measured: Measured) -> Value | Missing:
    collector, steps = known(measured.fact("gc")), measured.needed("plain_step_count")
    whole_ms = float(collector["ms_per_step"]) * steps
    return min(1.0, float(collector["longest_ms"]) / whole_ms) if whole_ms > 0 else 0.0


@metric("rare_gc_pause_count", "count", "Number of collections that made a timed step untypical")
def _rare_gc_pause_count(measured: Measured) -> Value | Missing:
    longest_ms = float(known(measured.fact("gc"))["longest_ms"])
    steps = measured.needed("plain_step_count")
    return round(_rare_pauses_ms(measured) * steps / longest_ms) if longest_ms > 0 else 0


@metric("rare_gc_rate_known", "yes/no", "Four collections made steps untypical, or two that a line calls")
def _rare_gc_rate_known(measured: Measured) -> Value | Missing:
    count = measured.needed("rare_gc_pause_count")
    return count >= RATE_OF or (count >= RATE_OF_CALLED and _are_called(measured))


def _are_called(measured: Measured) -> bool:
    """Whether lines of the script's own call most of what collections take."""
    collector = known(measured.fact("gc"))
    called_ms = sum(line["ms_per_step"] for line in collector.get("called", []))
    return bool(called_ms > collector["ms_per_step"] / 2)


@fact_selector("rare_gc_pauses", "pauses of Python's garbage collector that make some steps untypical")
def _rare_gc_pauses(measured: Measured) -> list[FactPlace] | Missing:
    steps = measured.needed("plain_step_count")
    count = measured.needed("rare_gc_pause_count") / steps if steps else 0.0
    ms, called = _rare_pauses_ms(measured), known(measured.fact("gc")).get("called", [])
    if not called or not _are_called(measured):
        return [FactPlace("", -1, "", count, ms)]
    whole_ms = sum(line["ms_per_step"] for line in called)
    return [
        FactPlace(
            line["file"],
            line["line"],
            line["function"],
            line["count"] / steps,
            ms * line["ms_per_step"] / whole_ms,
        )
        for line in called
    ]


@fact_selector("gc_pauses", "Python's garbage collector, measured without a profiler")
def _gc_pauses(measured: Measured) -> list[FactPlace] | Missing:
    """Where the recorded full collections began, each with its part of what the collector takes of a typical
    step.
    """
    collector = measured.fact("gc")
    if isinstance(collector, Missing):
        return collector
    ms = float(collector["ms_per_step"]) - max(_rare_pauses_ms(measured), _between_epochs_ms(measured))
    view = measured.timeline
    rows = view.named(view.marked("gc")) if view is not None else NO_ROWS
    if view is None or not len(rows):
        return [FactPlace("", -1, "", float(sum(collector["collections_per_step"])), ms)]
    marks = view.host[["file", "line", "function", "dur_ns"]].iloc[rows]
    lines = marks.groupby(["file", "line", "function"], observed=True)["dur_ns"].agg(["size", "sum"])
    whole = max(int(lines["sum"].sum()), 1)
    return [
        FactPlace(str(file), int(line), str(function), int(count) / view.step_count, ms * int(dur_ns) / whole)
        for (file, line, function), count, dur_ns in lines.itertuples()
    ]
