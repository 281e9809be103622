"""Steps: how long they take, and how far that can be told from noise."""

from __future__ import annotations

import math

import numpy as np

from diagnose.measure.measured import NO_STEPS, Measured, Missing, Value, metric


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


@metric("gpu_in_use", "yes/no", "the recorded steps ran something on a GPU")
def _gpu_in_use(measured: Measured) -> Value | Missing:
    return measured.timeline.has_device if measured.timeline else NO_STEPS
