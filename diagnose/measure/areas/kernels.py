"""Kernels: what the GPU computes, and in which precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diagnose.measure.measured import NO_FACTS, NO_GPU, NO_STEPS, Measured, Missing, Value, fact_metric, metric
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import Rows, category_matches

MATMUL_OP = r"^aten::(mm|addmm|bmm|baddbmm|matmul|linear|einsum|_?convolution|cudnn_convolution|convolution_(overrideable|backward))$"
REDUCED_PRECISION_KERNEL = r"(?i)tf32|f16|bf16|half|h884|h1688|h16816|s16816|s1688|i8|e4m3|e5m2|f8"


def _kernels_of(view: Selection, op_pattern: str) -> Rows:
    """Kernels whose operator, or one directly around it, matches."""
    matching = view.name_matches(op_pattern)
    op = view.device["op"].to_numpy()
    parent = view.host["parent"].to_numpy()
    rows = np.flatnonzero((op >= 0) & (view.device["kind"] == "kernel").to_numpy() & view.device_in_steps)
    above = parent[op[rows]]
    return rows[matching[op[rows]] | ((above >= 0) & matching[above])]


@selector("kernels", "all kernels", table="device")
def _kernels(view: Selection) -> Rows:
    return np.flatnonzero((view.device["kind"] == "kernel").to_numpy() & view.device_in_steps)


@selector("fp32_matmul", "matrix-multiply and convolution kernels that compute in plain 32-bit floats", table="device", needs="shapes")
def _fp32_matmul(view: Selection) -> Rows:
    rows = _kernels_of(view, MATMUL_OP)
    op = view.device["op"].to_numpy()[rows]
    single = category_matches(view.host["dtypes"].array, r'^\["float"')[op]
    reduced = category_matches(view.device["name"].array, REDUCED_PRECISION_KERNEL)[rows]
    return rows[single & ~reduced]


@selector("conv_bias", "kernels that add a convolution's bias", table="device")
def _conv_bias(view: Selection) -> Rows:
    op, parent = view.device["op"].to_numpy(), view.host["parent"].to_numpy()
    adds, convolution = view.name_matches(r"^aten::add_$"), view.name_matches(r"^aten::(_convolution|cudnn_convolution|convolution)$")
    rows = np.flatnonzero((op >= 0) & view.device_in_steps)
    above = parent[op[rows]]
    return rows[adds[op[rows]] & (above >= 0) & convolution[above]]


def on_gpu(measured: Measured, value: Callable[[Selection], Value | Missing]) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    return value(view) if view.has_device else NO_GPU


@metric("gpu_busy_share", "share", "of the step in which the GPU runs a kernel, copies or sets memory")
def _gpu_busy_share(measured: Measured) -> Value | Missing:
    return on_gpu(measured, lambda view: 1 - view.ms_per_step(view.idle) / (view.step_ns / 1e6))


@metric("compute_share", "share", "of the step in which the GPU computes")
def _compute_share(measured: Measured) -> Value | Missing:
    return on_gpu(measured, lambda view: view.ledger.share("compute"))


@metric("kernel_median_us", "us", "median duration of a kernel")
def _kernel_median_us(measured: Measured) -> Value | Missing:
    def median(view: Selection) -> Value | Missing:
        rows = SELECTORS["kernels"].rows(view)
        return float(np.median(view.device["dur_ns"].to_numpy()[rows])) / 1e3 if len(rows) else Missing("no kernel ran in a complete step")

    return on_gpu(measured, median)


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


fact_metric("matmul_precision", "", "torch.get_float32_matmul_precision()")


@metric("conv_bias_before_norm_count", "count", "convolutions with a bias whose output goes straight into a normalisation that removes it")
def _conv_bias_before_norm_count(measured: Measured) -> Value | Missing:
    if not measured.recording.facts:
        return NO_FACTS
    return sum(len(model.get("conv_bias_before_norm") or []) for model in measured.recording.facts.get("models") or [])
