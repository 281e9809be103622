"""What we found as events of a Chrome trace: a process above the recorded ones, with the
steps, the ledger and a track a finding.

Arrows lead from there to the recorded events. All keep the rules of Perfetto's importer: slices of one
track nest, an arrow's ends lie inside slices that are open at that moment, it never leads back in time, and
its name, category and number are nobody else's. Times are what the file itself writes: `ts` counts from its
own zero, in µs with three decimals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np

from diagnose.document import savings, text
from diagnose.document.model import Document, Finding
from diagnose.document.queries import planned
from diagnose.measure.ledger import TITLES
from diagnose.measure.measured import Measured
from diagnose.measure.peak_moment import peak_rows
from diagnose.measure.selection import SELECTORS, Selection, Selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows
from diagnose.predict.plan import Assessed
from diagnose.report import sentences
from diagnose.report.timeline.arrows import MOST as ARROWS
from diagnose.report.timeline.arrows import Arrow, from_finding, held_back, longest
from diagnose.trace.schema import Trace, Track

Event = dict[str, Any]

CATEGORY = "diagnose"
FIRST_PID = 2**22 + 1  # Linux gives no process a number above 2**22
# room for the arrows of one pid; the numbers that profilers give have 32 bits, these begin above 2**46
ARROW_IDS = 2**24
SLICES = 50_000  # of the ledger
SLICES_OF_A_FINDING = 5_000  # each says what it is about
LONGEST_PLACE = 200  # characters, as in the picture
PEAK = "the operator after which most is held, as seen in other steps that do the same"
ABOVE_ALL = -100  # torch sorts its processes from -1 on


def annotation_events(measured: Measured, assessed: Sequence[Assessed], document: Document) -> list[Event]:
    """Events to put into the timeline's file; `ts` and `dur` are Decimals of µs. Empty
    where no complete step was recorded.

    ``assessed`` says which events a finding of the plan is about, ``document``, the result document of
    the same analysis, what is told of it. It has a track if the timeline holds its time: what only the
    detail phase or the facts know has none.
    """
    view = measured.timeline
    if view is None:
        return []
    annotated = _Annotated(view.trace)
    annotated.add_steps(view)
    annotated.add_ledger(view)
    annotated.add_peaks(view, peak_rows(measured))
    selectors = {one.finding.rule.id: SELECTORS.get(one.finding.rule.selector) for one in assessed}
    for number, finding in enumerate(planned(document), 1):
        selector = selectors.get(finding.rule)
        spans = (
            _time(measured, view, selector)
            if selector is not None and selector.table != "calls"
            else NO_INTERVALS
        )
        if selector is not None and len(spans):
            shown = spans[longest(spans, SLICES_OF_A_FINDING)]
            track = annotated.add_finding(f"{number}. ", finding, document, shown, len(spans))
            arrows = from_finding(view, measured.rows(selector), selector.table == "device", shown, track)
            annotated.add_arrows(finding.fix.title, arrows)
    return annotated.events


def _time(measured: Measured, view: Selection, selector: Selector) -> Intervals:
    """The time that is at stake, else that of the events themselves."""
    attributed = measured.attributed(selector)
    return (
        attributed
        if len(attributed)
        else view.clipped(view.device if selector.table == "device" else view.host, measured.rows(selector))
    )


class _Annotated:
    """The events so far, and what makes them fit the file: a free process number, its clock, its tracks."""

    def __init__(self, trace: Trace) -> None:
        self.events: list[Event] = []
        self._first_ns, self._own_time = trace.in_file.first_ns, trace.own_time
        self._pid = next(number for number in count(FIRST_PID) if number not in trace.in_file.pids)
        self._tids = count(self._pid)
        self._arrow_ids = count(self._pid * ARROW_IDS)
        self._metadata("process_name", self._pid, {"name": "diagnose"})
        self._metadata("process_sort_index", self._pid, {"sort_index": ABOVE_ALL})

    def add_steps(self, view: Selection) -> None:
        steps = view.trace.steps[view.trace.steps.complete][view.chosen]
        track = self._thread("Steps, as recorded")
        for number, (start, end) in zip(steps.number.tolist(), view.host_windows.tolist(), strict=True):
            self._slice(track, start, end, f"step {number}: {text.ms((end - start) / 1e6)}", {})

    def add_ledger(self, view: Selection) -> None:
        rows = {row: spans for row, spans in view.ledger.rows.items() if len(spans)}
        spans = np.concatenate(list(rows.values()))
        row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows.values()])
        told = [(TITLES[row][0], {"meaning": TITLES[row][1]}) for row in rows]
        shown = longest(spans, SLICES)
        track = self._thread(f"Where the time goes ({view.ledger.device}){_cut(len(shown), len(spans))}")
        for (start, end), row in zip(spans[shown].tolist(), row_of[shown].tolist(), strict=True):
            self._slice(track, start, end, *told[row])
        self.add_arrows("held the GPU back", held_back(view))

    def add_peaks(self, view: Selection, rows: Rows) -> None:
        """A slice where each step's memory is at its peak: as long as the operator that makes the tensor."""
        if not len(rows):
            return
        track = self._thread("Memory at its peak")
        for start, end in view.host_intervals(rows).tolist():
            self._slice(track, start, end, "memory peak", {"meaning": PEAK})

    def add_finding(
        self, lead: str, finding: Finding, document: Document, spans: Intervals, count_of_all: int
    ) -> Track:
        """The new track, with a slice a span; the spans are the longest of so many."""
        where = text.end_of(sentences.where(finding).replace("`", ""), LONGEST_PLACE)
        title = text.clean(finding.fix.title)
        track = self._thread(f"{lead}{title}{f' – {where}' if where else ''}{_cut(len(spans), count_of_all)}")
        args = _about(finding, document, where, len(spans))
        for start, end in spans.tolist():
            self._slice(track, start, end, title, args)
        return track

    def add_arrows(self, name: str, arrows: Sequence[Arrow]) -> None:
        for arrow in arrows:
            shared = {"cat": CATEGORY, "name": name, "id": next(self._arrow_ids)}
            for phase, end in (({"ph": "s"}, arrow.start), ({"ph": "f", "bp": "e"}, arrow.end)):
                self.events.append(
                    {**phase, **shared, "pid": end.track[0], "tid": end.track[1], "ts": self._us(end.ns)}
                )

    # ---- single events

    def _thread(self, name: str) -> Track:
        """A new track of our process, below those before it."""
        tid = next(self._tids)
        self._metadata("thread_name", tid, {"name": name})
        self._metadata("thread_sort_index", tid, {"sort_index": tid - self._pid})
        return self._pid, tid

    def _metadata(self, name: str, tid: int, args: Mapping[str, Any]) -> None:
        self.events.append({"ph": "M", "name": name, "pid": self._pid, "tid": tid, "args": args})

    def _slice(self, track: Track, start_ns: int, end_ns: int, name: str, args: Mapping[str, Any]) -> None:
        at = {
            "pid": track[0],
            "tid": track[1],
            "ts": self._us(start_ns),
            "dur": self._us(end_ns) - self._us(start_ns),
        }
        self.events.append({"ph": "X", "cat": CATEGORY, "name": name, **at, "args": args})

    def _us(self, ns: int) -> Decimal:
        """A time of the tables as the file writes it."""
        return _us(
            self._first_ns + (ns if self._own_time is None else int(self._own_time.recorded(np.array(ns))))
        )


def _us(ns: int) -> Decimal:
    return Decimal(ns).scaleb(-3)


def _about(finding: Finding, document: Document, where: str, slice_count: int) -> dict[str, str]:
    """What a slice of the finding tells when it is clicked."""
    told = {
        "symptom": finding.symptom,
        "how": finding.fix.how,
        "at": where,
        "takes per step": text.ms(finding.ms_per_step),
        f"{savings.saves(document).lower()} per step": savings.saving(finding, document),
        "rule": finding.rule,
        "arrows": f"from the longest {text.count(ARROWS)} of {text.count(slice_count)} slices"
        if slice_count > ARROWS
        else "",
    }
    return {name: text.clean(value) for name, value in told.items() if value}


def _cut(shown: int, of: int) -> str:
    """What a track's name says where it does not show all."""
    return f" (the longest {text.count(shown)} of {text.count(of)})" if shown < of else ""
