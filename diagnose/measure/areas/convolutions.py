"""Convolutions: their memory layout, their algorithms, their bias."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.kernels import kernels_of
from diagnose.measure.measured import NO_FACTS, Measured, Missing, Value, fact_metric, metric
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Rows, category_matches
from diagnose.measure.work import inside

CONVOLUTION_OP = r"^aten::(cudnn_convolution\w*|miopen_convolution\w*|convolution_backward|_convolution)$"
# cuDNN's and MIOpen's
LAYOUT_KERNEL = r"(?i)nchw_?to_?nhwc|nhwc_?to_?nchw|^batched_transpose_\d"


@selector(
    "layout_kernels", "kernels that convert tensors between NCHW and NHWC around convolutions", table="device"
)
def _layout_kernels(view: Selection) -> Rows:
    kernel = np.asarray(view.device["kind"] == "kernel") & view.device_in_steps
    return np.flatnonzero(kernel & category_matches(view.device["name"].array, LAYOUT_KERNEL))


@selector(
    "convolution_trials", "convolutions that try out algorithms after the first recorded step", needs="device"
)
def _convolution_trials(view: Selection) -> Rows:
    """Convolutions that wait for the GPU: only a trial, which takes the time, has to.

    The first step may be a warm-up.
    """
    late = view.host["start_ns"].to_numpy() >= (view.host_windows[0, 1] if view.step_count else 0)
    waits = view.sync_calls[late[view.sync_calls]]
    outer = view.outermost_ops(waits[inside(view, waits, view.name_matches(CONVOLUTION_OP))])
    return np.unique(outer)


@selector("convolution_kernels", "kernels of convolutions, forward and backward", table="device")
def _convolution_kernels(view: Selection) -> Rows:
    return kernels_of(view, CONVOLUTION_OP)


@selector("conv_bias", "kernels that add a convolution's bias", table="device")
def _conv_bias(view: Selection) -> Rows:
    op, parent = view.device["op"].to_numpy(), view.host["parent"].to_numpy()
    adds, convolution = (
        view.name_matches(r"^aten::add_$"),
        view.name_matches(r"^aten::(_convolution|cudnn_convolution|convolution)$"),
    )
    rows = np.flatnonzero((op >= 0) & view.device_in_steps)
    above = parent[op[rows]]
    return rows[adds[op[rows]] & (above >= 0) & convolution[above]]


fact_metric("cudnn_benchmark", "yes/no", "`torch.backends.cudnn.benchmark` is on")


@metric(
    "conv_bias_before_norm_count", "count", "Number of convolutions whose bias the next normalisation removes"
)
def _conv_bias_before_norm_count(measured: Measured) -> Value | Missing:
    if not measured.recording.facts:
        return NO_FACTS
    return sum(
        len(model.get("conv_bias_before_norm") or [])
        for model in measured.recording.facts.get("models") or []
    )
