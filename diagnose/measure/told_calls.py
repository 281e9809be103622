"""What the look at the dataflow of one step tells (`diagnose.run.child.dataflow`), in ms of a plain step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from diagnose.measure.areas.operators import dispatched_work
from diagnose.measure.ledger import TORCH_ROWS
from diagnose.measure.lines import backward_of_lines, forward_of_lines
from diagnose.measure.measured import FactPlace, Measured
from diagnose.measure.missing import NO_STEPS, NOT_RECORDED, Missing
from diagnose.measure.view import NO_ROWS

NOT_ON_A_GPU = Missing("what a call costs on a GPU is not known from the host")


def dataflow(measured: Measured) -> dict[str, Any] | Missing:
    found = measured.recording.facts.get("dataflow")
    return NOT_RECORDED if found is None else dict(found)


def whole_ms(places: Iterable[FactPlace]) -> float:
    return sum(place.ms_per_step or 0.0 for place in places)


def where_trained(measured: Measured, what: str) -> list[FactPlace] | Missing:
    """None where nothing is trained: there a model's result that nobody reads, or that is always the same,
    may be all that a benchmark is about.
    """
    told = dataflow(measured)
    if not isinstance(told, Missing) and what in told and not told["backward_ns"]:
        return []
    return parts_of_torch(measured, what)


def parts_of_torch(
    measured: Measured, what: str, used_by_backward: Callable[[dict[str, Any]], float] = lambda line: 1.0
) -> list[FactPlace] | Missing:
    """As large a part of what their lines' operators take as they took of the lines' calls in the one step
    that was looked at; and as large a part of their lines' backward as they are of the lines' calls that need
    gradients. Where that is not recorded, the part of what torch takes, and of the whole backward.
    ``used_by_backward``: a factor of that.
    """
    told, view = dataflow(measured), measured.timeline
    if isinstance(told, Missing) or view is None:
        return told if isinstance(told, Missing) else NO_STEPS
    if view.has_device:
        return NOT_ON_A_GPU
    if what not in told:
        return NOT_RECORDED
    torch_ms = sum(measured.row_ms(row) for row in TORCH_ROWS)
    backward = {} if measured.detail is None else backward_of_lines(measured.detail)
    found = []
    for line in told[what]:
        rows = backward.get((line["file"], line["line"]), NO_ROWS)
        forward_ms = _forward_ms(measured, line)
        if forward_ms is None:
            forward_ms = torch_ms * line["ns"] / max(told["calls_ns"], 1)
        if measured.detail is not None and len(rows) and line.get("line_trained_ns"):
            of_line_ms = measured.detail_ms(dispatched_work(measured.detail, rows))
            backward_ms = of_line_ms * min(1.0, line["trained_ns"] / line["line_trained_ns"])
        else:
            backward_ns = told["backward_ns"] * line["trained_ns"] / max(told["trained_ns"], 1)
            backward_ms = torch_ms * backward_ns / max(told["calls_ns"], 1)
        place = (line["file"], line["line"], line["function"])
        ms = min(torch_ms, forward_ms + backward_ms * used_by_backward(line))
        found.append(FactPlace(*place, float(line["call_count"]), ms))
    return found


def _forward_ms(measured: Measured, line: dict[str, Any]) -> float | None:
    """Of calls that a line makes itself; None where that is not recorded."""
    place = line["file"], line["line"]
    if measured.detail is None or not line.get("line_ns") or line["ns"] > line["line_ns"]:
        return None
    rows = forward_of_lines(measured.detail).get(place)
    if rows is None:
        return None
    return measured.detail_ms(dispatched_work(measured.detail, rows)) * line["ns"] / line["line_ns"]
