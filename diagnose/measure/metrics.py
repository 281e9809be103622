"""All metrics there are: importing this module registers them, three for every selector among them."""

from __future__ import annotations

from collections.abc import Callable

from diagnose.measure.areas import (
    compilation,
    convolutions,
    debugging,
    distributed,
    fusion,
    gpu_state,
    host,
    input,
    kernels,
    launches,
    memory,
    model,
    operators,
    optimizer,
    own_lines,
    precision,
    steps,
    syncs,
    transfers,
)
from diagnose.measure.measured import (
    FACT_SELECTORS,
    METRICS,
    NO_BORDERS,
    NO_CALLS_SEEN,
    NO_COST,
    NO_GPU,
    NO_HOST,
    NO_SHAPES,
    NO_STEPS,
    FactSelector,
    Measured,
    Metric,
    Missing,
    Value,
    metric,
)
from diagnose.measure.selection import SELECTORS, Selection, Selector

__all__ = ["METRICS", "Measured", "Metric", "Missing", "Value"]
Number = Callable[[Measured], Value | Missing]
AREAS = (
    compilation,
    convolutions,
    debugging,
    distributed,
    fusion,
    gpu_state,
    host,
    input,
    kernels,
    launches,
    memory,
    model,
    operators,
    optimizer,
    own_lines,
    precision,
    steps,
    syncs,
    transfers,
)


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


def _stake_ms(selector: Selector) -> Number:
    return lambda measured: _unknown(selector, measured.view(selector)) or measured.stake_ms(selector)


def _share_of_step(name: str) -> Number:
    def value(measured: Measured) -> Value | Missing:
        ms = measured.metric(name)
        return ms if isinstance(ms, Missing) else float(ms) / measured.number("step_ms")

    return value


def _count_per_step(selector: Selector) -> Number:
    def value(measured: Measured) -> Value | Missing:
        view = measured.view(selector)
        unknown = _unknown(selector, view)
        if unknown or view is None:
            return unknown or NO_STEPS
        if view.trace.step_source == "whole trace":
            return NO_BORDERS
        return len(measured.rows(selector)) / view.step_count

    return value


def _fact_ms(selector: FactSelector) -> Number:
    def value(measured: Measured) -> Value | Missing:
        places = selector.places(measured)
        if isinstance(places, Missing):
            return places
        costs = [place.ms_per_step for place in places]
        return NO_COST if None in costs else float(sum(cost for cost in costs if cost is not None))

    return value


def _fact_count_per_step(selector: FactSelector) -> Number:
    def value(measured: Measured) -> Value | Missing:
        places = selector.places(measured)
        return places if isinstance(places, Missing) else float(sum(place.count_per_step for place in places))

    return value


def _three_metrics(
    name: str, meaning: str, ms: Callable[[Measured], Value | Missing], count: Callable[[Measured], Value | Missing]
) -> None:
    metric(f"{name}_ms", "ms", f"{meaning}, per step")(ms)
    metric(f"{name}_share", "share", f"{meaning}, as a share of the step")(_share_of_step(f"{name}_ms"))
    metric(f"{name}_count_per_step", "count", f"{meaning}, how many per step")(count)


for _selector in SELECTORS.values():
    _three_metrics(_selector.name, _selector.meaning, _stake_ms(_selector), _count_per_step(_selector))
for _known in FACT_SELECTORS.values():
    _three_metrics(_known.name, _known.meaning, _fact_ms(_known), _fact_count_per_step(_known))
