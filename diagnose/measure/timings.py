"""Metrics read from the trace and the step clock."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diagnose.measure.measured import NO_BORDERS, NO_GPU, NO_HOST, NO_SHAPES, NO_STEPS, Measured, Missing, Value, metric
from diagnose.measure.selectors import SELECTORS, Selection, Selector

# ---- two metrics for every selector


def _unknown(selector: Selector, view: Selection | None) -> Missing | None:
    """Why "none found" would mean nothing on this recording."""
    if view is None:
        return NO_STEPS
    if selector.needs != "host" and not view.has_device:
        return NO_GPU
    if not len(view.host) and selector.table == "host":
        return NO_HOST
    if selector.needs == "shapes" and not view.has_shapes:
        return NO_SHAPES
    return None


def _stake_ms(selector: Selector) -> Callable[[Measured], Value | Missing]:
    def value(measured: Measured) -> Value | Missing:
        view = measured.timeline
        unknown = _unknown(selector, view)
        if unknown or view is None:
            return unknown or NO_STEPS
        recorded_ms = view.ms_per_step(selector.stake(view, measured.rows(selector)))
        return measured.plain_ms(recorded_ms, of_input_wait=selector.name == "input_wait")

    return value


def _share_of_step(name: str) -> Callable[[Measured], Value | Missing]:
    def value(measured: Measured) -> Value | Missing:
        ms = measured.metric(name)
        return ms if isinstance(ms, Missing) else float(ms) / measured.number("step_ms")

    return value


for _selector in SELECTORS.values():
    metric(f"{_selector.name}_ms", "ms", f"{_selector.meaning}, per step")(_stake_ms(_selector))
    metric(f"{_selector.name}_share", "share", f"{_selector.meaning}, as a share of the step")(_share_of_step(f"{_selector.name}_ms"))


# ---- steps


def _median_ms(step_ns: np.ndarray) -> Value | Missing:
    return float(np.median(step_ns)) / 1e6 if len(step_ns) else NO_STEPS


@metric("plain_step_ms", "ms", "median step without a profiler")
def _plain_step_ms(measured: Measured) -> Value | Missing:
    return _median_ms(measured.recording.step_ns("plain"))


@metric("timeline_step_ms", "ms", "mean complete step of the timeline")
def _timeline_step_ms(measured: Measured) -> Value | Missing:
    return measured.timeline.step_ns / 1e6 if measured.timeline else NO_STEPS


@metric("step_ms", "ms", "the step: plain where it was measured, else as recorded")
def _step_ms(measured: Measured) -> Value | Missing:
    plain = measured.metric("plain_step_ms")
    return measured.metric("timeline_step_ms") if isinstance(plain, Missing) else plain


@metric("noise_ms", "ms", "twice the standard error of the median plain step, at least 1 % of it: smaller savings are noise")
def _noise_ms(measured: Measured) -> Value | Missing:
    steps = measured.recording.step_ns("plain") / 1e6
    step_ms = measured.metric("step_ms")
    if isinstance(step_ms, Missing):
        return step_ms
    if len(steps) < 3:
        return 0.01 * float(step_ms)
    mad = float(np.median(np.abs(steps - np.median(steps))))
    # 1.4826 turns a MAD into a standard deviation, 1.2533 a mean's standard error into a median's (both for normal noise).
    return max(0.01 * float(step_ms), 2 * 1.2533 * 1.4826 * mad / math.sqrt(len(steps)))


# ---- GPU


def _gpu(measured: Measured, value: Callable[[Selection], Value | Missing]) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    return value(view) if view.has_device else NO_GPU


@metric("gpu_busy_share", "share", "of the step in which the GPU runs a kernel, copies or sets memory")
def _gpu_busy_share(measured: Measured) -> Value | Missing:
    return _gpu(measured, lambda view: 1 - view.ms_per_step(view.idle) / (view.step_ns / 1e6))


@metric("compute_share", "share", "of the step in which the GPU computes")
def _compute_share(measured: Measured) -> Value | Missing:
    return _gpu(measured, lambda view: view.ledger.share("compute"))


@metric("kernel_count_per_step", "count", "kernels per step")
def _kernel_count(measured: Measured) -> Value | Missing:
    return _gpu(measured, lambda view: len(SELECTORS["kernels"].rows(view)) / view.step_count)


@metric("kernel_median_us", "us", "median duration of a kernel")
def _kernel_median_us(measured: Measured) -> Value | Missing:
    def median(view: Selection) -> Value | Missing:
        rows = SELECTORS["kernels"].rows(view)
        return float(np.median(view.device["dur_ns"].to_numpy()[rows])) / 1e3 if len(rows) else Missing("no kernel ran in a complete step")

    return _gpu(measured, median)


def _count_per_step(selector_name: str) -> Callable[[Measured], Value | Missing]:
    def value(measured: Measured) -> Value | Missing:
        view, selector = measured.timeline, SELECTORS[selector_name]
        unknown = _unknown(selector, view)
        if unknown or view is None:
            return unknown or NO_STEPS
        if view.trace.step_source == "whole trace":
            return NO_BORDERS
        return len(measured.rows(selector)) / view.step_count

    return value


for _name in ("host_sync", "host_reads", "optimizer_launches", "pageable_htod", "built_on_host"):
    metric(f"{_name}_count_per_step", "count", f"{SELECTORS[_name].meaning}, per step")(_count_per_step(_name))


@metric("optimizer_fused_op_count", "count", "foreach or fused operators inside the optimizer's step, in all recorded steps")
def _optimizer_fused_op_count(measured: Measured) -> Value | Missing:
    return _gpu(measured, lambda view: len(view.named(view.name_matches(r"^aten::_(foreach|fused)_"))))


@metric("gpu_in_use", "yes/no", "the recorded steps ran something on a GPU")
def _gpu_in_use(measured: Measured) -> Value | Missing:
    return measured.timeline.has_device if measured.timeline else NO_STEPS


@metric("gpu_capability", "", "compute capability of the GPU (8.0 and up has TF32)")
def _gpu_capability(measured: Measured) -> Value | Missing:
    fact = measured.recording.facts.get("gpu_capability")
    if fact:
        return float(fact)
    trace = measured.recording.timeline
    unknown = Missing("the GPU's compute capability is not in this recording")
    if trace is None or any(key.startswith(("hip", "roctracer")) for key in trace.info):  # AMD's numbers mean something else
        return unknown
    devices = trace.info.get("deviceProperties") or []
    known = [one for one in devices if isinstance(one, dict) and "computeMajor" in one]
    return float(f"{known[0]['computeMajor']}.{known[0].get('computeMinor', 0)}") if known else unknown
