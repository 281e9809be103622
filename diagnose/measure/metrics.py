"""All metrics there are: importing this module registers them, three for every selector among them."""

from __future__ import annotations

from collections.abc import Callable

from diagnose.measure.areas import debugging, host, input, kernels, launches, model, optimizer, own_lines, steps, syncs, transfers
from diagnose.measure.measured import (
    METRICS,
    NO_BORDERS,
    NO_CALLS_SEEN,
    NO_GPU,
    NO_HOST,
    NO_SHAPES,
    NO_STEPS,
    Measured,
    Metric,
    Missing,
    Value,
    metric,
)
from diagnose.measure.selection import SELECTORS, Selection, Selector

__all__ = ["METRICS", "Measured", "Metric", "Missing", "Value"]
AREAS = (debugging, host, input, kernels, launches, model, optimizer, own_lines, steps, syncs, transfers)


def _unknown(selector: Selector, view: Selection | None) -> Missing | None:
    """Why "none found" would mean nothing on this recording."""
    if view is None:
        return NO_CALLS_SEEN if selector.table == "calls" else NO_STEPS
    if selector.needs == "calls":
        return None if len(view.calls) else NO_CALLS_SEEN
    if selector.needs != "host" and not view.has_device and not (selector.needs == "shapes" and selector.table == "host"):
        return NO_GPU
    if not len(view.host) and selector.table == "host":
        return NO_HOST
    if selector.needs == "shapes" and not view.has_shapes:
        return NO_SHAPES
    return None


def _stake_ms(selector: Selector) -> Callable[[Measured], Value | Missing]:
    return lambda measured: _unknown(selector, measured.view(selector)) or measured.stake_ms(selector)


def _share_of_step(name: str) -> Callable[[Measured], Value | Missing]:
    def value(measured: Measured) -> Value | Missing:
        ms = measured.metric(name)
        return ms if isinstance(ms, Missing) else float(ms) / measured.number("step_ms")

    return value


def _count_per_step(selector: Selector) -> Callable[[Measured], Value | Missing]:
    def value(measured: Measured) -> Value | Missing:
        view = measured.view(selector)
        unknown = _unknown(selector, view)
        if unknown or view is None:
            return unknown or NO_STEPS
        if view.trace.step_source == "whole trace":
            return NO_BORDERS
        return len(measured.rows(selector)) / view.step_count

    return value


for _selector in SELECTORS.values():
    metric(f"{_selector.name}_ms", "ms", f"{_selector.meaning}, per step")(_stake_ms(_selector))
    metric(f"{_selector.name}_share", "share", f"{_selector.meaning}, as a share of the step")(_share_of_step(f"{_selector.name}_ms"))
    metric(f"{_selector.name}_count_per_step", "count", f"{_selector.meaning}, how many per step")(_count_per_step(_selector))
