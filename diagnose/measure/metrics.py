"""All metrics there are: importing this module registers them, three for every selector among them."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from diagnose.errors import DiagnoseError
from diagnose.measure import areas
from diagnose.measure.areas import user_code
from diagnose.measure.areas.user_code import CALLS, Calls, CallTime
from diagnose.measure.kernel_names import FLOAT32_INPUTS, PRODUCT_KERNEL, number_format
from diagnose.measure.measured import FACT_SELECTORS, METRICS, FactSelector, Measured, Metric, Value, metric
from diagnose.measure.missing import (
    FIRST_CALLS,
    NO_BORDERS,
    NO_CALLS_SEEN,
    NO_COST,
    NO_COUNT,
    NO_GPU,
    NO_HOST,
    NO_SHAPES,
    NO_STEPS,
    Missing,
    known,
)
from diagnose.measure.selection import SELECTORS, Selection, Selector
from diagnose.measure.view import category_matches
from diagnose.measure.warm_up import cold_steps

__all__ = ["METRICS", "Measured", "Metric", "Value"]
Number = Callable[[Measured], Value | Missing]
NEARLY_ALL = 0.9  # of the products' time: a rule asks for a tenth of the step

for _area in pkgutil.iter_modules(areas.__path__):  # a file's existence is its registration
    importlib.import_module(f"{areas.__name__}.{_area.name}")


def _unknown(selector: Selector, view: Selection | None) -> Missing | None:
    """Why "none found" would mean nothing on this recording."""
    if view is None:
        return NO_CALLS_SEEN if selector.table == "calls" else NO_STEPS
    if selector.needs == "calls":
        return None if len(view.calls) else NO_CALLS_SEEN
    asked = (selector.table, selector.needs)
    if "device" in asked and not view.has_device:
        return NO_GPU
    if "host" in asked and not len(view.host) and not ("work" in asked and view.has_device):
        return NO_HOST
    if selector.needs == "shapes" and not view.has_shapes:
        return NO_SHAPES
    if selector.needs == "formats" and not (view.has_shapes or _names_tell_formats(view)):
        return NO_SHAPES
    return None


def _names_tell_formats(view: Selection) -> bool:
    """Whether the kernels of matrix products and convolutions, nearly all by their time, have names that
    tell the number format.
    """
    names, dur = view.device["name"].array, view.device["dur_ns"].to_numpy()
    products = category_matches(names, PRODUCT_KERNEL) & view.device_in_steps
    telling = [number_format(name) or re.search(FLOAT32_INPUTS, name) for name in names.categories]
    told = products & np.array([*map(bool, telling), False])[names.codes]
    return bool(products.any()) and dur[told].sum() >= NEARLY_ALL * dur[products].sum()


def _attributed_ms(selector: Selector) -> Number:
    return lambda measured: _unknown(selector, measured.view(selector)) or measured.attributed_ms(selector)


def _share_of_step(name: str) -> Number:
    return lambda measured: measured.needed(name) / measured.number("step_ms")


def _count_per_step(selector: Selector) -> Number:
    def value(measured: Measured) -> Value | Missing:
        view = measured.view(selector)
        unknown = _unknown(selector, view)
        if unknown or view is None:
            return unknown or NO_STEPS
        count = len(measured.rows(selector))
        if not view.is_whole_trace:
            return count / view.step_count
        if measured.timeline is not None and cold_steps(measured.timeline).any():
            return FIRST_CALLS
        return replace(NO_BORDERS, at_most=count)  # the recording holds a step at least, and perhaps many

    return value


def _fact_ms(selector: FactSelector) -> Number:
    def value(measured: Measured) -> Value | Missing:
        costs = [place.ms_per_step for place in known(selector.places(measured))]
        return NO_COST if None in costs else float(sum(cost for cost in costs if cost is not None))

    return value


def _fact_count_per_step(selector: FactSelector) -> Number:
    def value(measured: Measured) -> Value | Missing:
        count = float(sum(place.count_per_step for place in known(selector.places(measured))))
        return NO_COUNT if math.isnan(count) else count

    return value


def _three_metrics(name: str, meaning: str, ms: Number, count: Number) -> None:
    """``meaning``: a noun phrase for the events, which reads on after "taken by"."""
    metric(f"{name}_ms", "ms", f"Time per step taken by {meaning}")(ms)
    metric(f"{name}_share", "share", f"Share of the step taken by {meaning}")(_share_of_step(f"{name}_ms"))
    metric(f"{name}_count_per_step", "count", f"Number per step: {meaning}")(count)


def _metrics_of(selector: Selector) -> None:
    _three_metrics(selector.name, selector.meaning, _attributed_ms(selector), _count_per_step(selector))


def add_calls(name: str, pattern: str, meaning: str, time: CallTime = "exposed") -> None:
    """A selector, with its metrics, of calls that the script's own lines make, outside the data loader's
    `__next__`: what a rule is about (`[events]` in its file).

    ``pattern``: a regular expression for what is called, as ``detail.calls.json`` has it:
    "torch/serialization.py: save", "<built-in function open>". ``time``: the calls' own time, or only that
    in which Python runs. What was added under the name before is replaced. Raises DiagnoseError for a name
    that means something else and for a bad expression.
    """
    calls = Calls(pattern, meaning, time)
    if CALLS.get(name) == calls:
        return
    if name not in CALLS and (name in SELECTORS or name in FACT_SELECTORS):
        raise DiagnoseError(f"two kinds of events are called {name}", do="choose another name")
    try:
        re.compile(pattern)
    except re.error as error:
        raise DiagnoseError(f"{pattern!r} is no regular expression", saw=str(error)) from error
    if name in CALLS:  # an edited rule
        for suffix in ("ms", "share", "count_per_step", "steps_share"):
            del METRICS[f"{name}_{suffix}"]
    user_code.add_calls(name, calls)
    _metrics_of(SELECTORS[name])


for _selector in SELECTORS.values():
    _metrics_of(_selector)
for _of_facts in FACT_SELECTORS.values():
    _three_metrics(_of_facts.name, _of_facts.meaning, _fact_ms(_of_facts), _fact_count_per_step(_of_facts))
