"""Convolutions: their memory layout, their algorithms, their bias."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diagnose.measure.areas.kernels import kernels_of
from diagnose.measure.areas.operators import both_ways, input_shapes, shape_of
from diagnose.measure.measured import Measured, Value, fact_metric, metric
from diagnose.measure.missing import NO_FACTS, Missing
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_ROWS, Rows, category_matches, test_at
from diagnose.measure.work import inside
from diagnose.trace.distinct import distinct

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
    return distinct(outer)


@selector("convolution_kernels", "kernels of convolutions, forward and backward", table="device")
def _convolution_kernels(view: Selection) -> Rows:
    return kernels_of(view, CONVOLUTION_OP)


@selector(
    "full_width_convolutions",
    "convolutions of single-channel images with a kernel as wide as they are, with their backward",
    needs="shapes",
    attributed=both_ways,
)
def _full_width_convolutions(view: Selection) -> Rows:
    return _of_one_channel(view, lambda width, kernel: kernel == width)


@selector(
    "overwide_convolutions",
    "convolutions of single-channel images with a kernel wider than they are, with their backward",
    needs="shapes",
    attributed=both_ways,
)
def _overwide_convolutions(view: Selection) -> Rows:
    return _of_one_channel(view, lambda width, kernel: kernel > width)


def _of_one_channel(view: Selection, test: Callable[[int, int], bool]) -> Rows:
    """On a CPU: those whose width and kernel's width pass; a kernel of one row is a linear layer."""
    if view.has_device:
        return NO_ROWS
    rows = view.named(view.name_matches(r"^aten::conv2d$"))

    def passes(text: str) -> bool:
        given, kernel = ([shape_of(shape) for shape in input_shapes(text)] + [(), ()])[:2]
        is_one_channel = len(given) == len(kernel) == 4 and given[1] == kernel[1] == 1 and kernel[2] > 1
        return is_one_channel and given[3] > 1 and test(given[3], kernel[3])

    return rows[test_at(view.host["shapes"].array, rows, passes)]


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
