"""Forwards that run again within the backward, because `torch.utils.checkpoint` kept nothing of them."""

from __future__ import annotations

from diagnose.measure.areas.user_code import calls_to
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_CALLS_SEEN, NO_STEPS, NOT_RECORDED, Missing, known
from diagnose.measure.selection import Selection
from diagnose.measure.told_calls import NOT_ON_A_GPU
from diagnose.measure.view import Rows, started_in

# what `checkpoint` is called through: within a forward nothing else is
CHECKPOINT = r"^torch/(utils/checkpoint\.py: checkpoint(_sequential)?|_compile\.py: inner)$"


@fact_selector("recomputed_forwards", "forwards that the backward runs again (`torch.utils.checkpoint`)")
def _recomputed_forwards(measured: Measured) -> list[FactPlace] | Missing:
    """By the lines that call `checkpoint`, in proportion to what these calls take."""
    view, detail = measured.timeline, measured.detail
    if view is None or detail is None:
        return NO_STEPS if view is None else NO_CALLS_SEEN
    if view.has_device:
        return NOT_ON_A_GPU
    calls = detail.calls.iloc[calls_to(detail, CHECKPOINT)]
    calls = calls[started_in(calls, detail.host_intervals(detail.named(detail.marked("forward"))))]
    again = _within_backward(view)
    if not len(calls) or not len(again):
        return []
    whole_ms = measured.timeline_ms(view.host_intervals(again))
    lines = calls.groupby(["file", "line", "function"], observed=True)["dur_ns"].agg(["size", "sum"])
    whole_ns = max(int(lines["sum"].sum()), 1)
    return [
        FactPlace(
            str(file), int(line), str(function), count / detail.step_count, whole_ms * int(ns) / whole_ns
        )
        for (file, line, function), count, ns in lines.itertuples()
    ]


def _within_backward(view: Selection) -> Rows:
    """The outermost forwards that run while a backward does."""
    own = view.on_training_thread
    backward = view.host_intervals(view.named(view.marked("backward") & own))
    forwards = view.named(view.marked("forward") & own)
    return forwards[started_in(view.host.iloc[forwards], backward)]


@metric("keeping_fits", "yes/no", "There is memory to keep what is recomputed, several times over")
def _keeping_fits(measured: Measured) -> Value | Missing:
    """As much again as tensors fill at the peak, for each forward that is recomputed: one is in it."""
    places = known(_recomputed_forwards(measured))
    free, filled = measured.fact("memory_available_bytes"), measured.metric("memory_tensor_bytes")
    if isinstance(free, Missing) or isinstance(filled, Missing) or free is None:
        return NOT_RECORDED
    calls = sum(place.count_per_step for place in places)
    return bool(free >= (1 + calls) * float(filled))
