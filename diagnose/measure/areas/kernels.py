"""Kernels: what the GPU computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diagnose.measure.device_steps import gpus_listed
from diagnose.measure.kernel_names import least_capability
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_FACTS, NO_GPU, NO_STEPS, ONLY_IN_A_RUN, Missing
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import Rows
from diagnose.trace.schema import Trace

MATMUL_OP = (
    r"^aten::(mm|addmm|bmm|baddbmm|matmul|linear|einsum"
    r"|_?convolution|convolution_(overrideable|backward)|(cudnn|miopen)_convolution\w*)$"
)
# what products and convolutions call beside their own work: for a bias, its gradient, a layout
BESIDE_OP = r"^aten::(add|sub|mul|div|sum|copy|fill|zero)_?$"


def kernels_of(view: Selection, op_pattern: str) -> Rows:
    """Kernels whose operator matches, or one directly around it, but for arithmetic beside its own work."""
    matching, beside = view.name_matches(op_pattern), view.name_matches(BESIDE_OP)
    op = view.device["op"].to_numpy()
    parent = view.host["parent"].to_numpy()
    rows = np.flatnonzero((op >= 0) & (view.device["kind"] == "kernel").to_numpy() & view.device_in_steps)
    above = parent[op[rows]]
    return rows[matching[op[rows]] | ((above >= 0) & matching[above] & ~beside[op[rows]])]


@selector("kernels", "all kernels", table="device")
def _kernels(view: Selection) -> Rows:
    return np.flatnonzero((view.device["kind"] == "kernel").to_numpy() & view.device_in_steps)


@selector("dominant_kernel", "the kernel with the longest total time (by name)", table="device")
def _dominant_kernel(view: Selection) -> Rows:
    rows = _kernels(view)
    rows = rows[~view.device["communication"].to_numpy()[rows]]
    if not len(rows):
        return rows
    code = view.device["name"].array.codes[rows]
    return rows[code == np.bincount(code, weights=view.device["dur_ns"].to_numpy()[rows]).argmax()]


@metric("dominant_kernel_name", "", "Name of this kernel")
def _dominant_kernel_name(measured: Measured) -> Value | Missing:
    def name(view: Selection) -> Value | Missing:
        rows = _dominant_kernel(view)
        return (
            str(view.device["name"].iloc[rows[0]])
            if len(rows)
            else Missing("no kernel ran in a complete step")
        )

    return on_gpu(measured, name)


def on_gpu(measured: Measured, value: Callable[[Selection], Value | Missing]) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    return value(view) if view.has_device else NO_GPU


@metric("gpu_busy_share", "share", "Share of the step in which the GPU runs a kernel, copies or sets memory")
def _gpu_busy_share(measured: Measured) -> Value | Missing:
    return on_gpu(measured, lambda view: 1 - view.ms_per_step(view.idle) / (view.step_ns / 1e6))


@metric("compute_share", "share", "Share of the step in which the GPU computes")
def _compute_share(measured: Measured) -> Value | Missing:
    return on_gpu(measured, lambda view: view.ledger.share("compute"))


@metric("kernel_median_us", "us", "Median time of a kernel")
def _kernel_median_us(measured: Measured) -> Value | Missing:
    def median(view: Selection) -> Value | Missing:
        rows = SELECTORS["kernels"].rows(view)
        return (
            float(np.median(view.device["dur_ns"].to_numpy()[rows])) / 1e3
            if len(rows)
            else Missing("no kernel ran in a complete step")
        )

    return on_gpu(measured, median)


@metric("kernel_count", "count", "Number of kernels per step (in the whole recording if it marks no steps)")
def _kernel_count(measured: Measured) -> Value | Missing:
    return on_gpu(measured, lambda view: len(SELECTORS["kernels"].rows(view)) / view.step_count)


@metric(
    "gpu_capability", "", "Compute capability of the GPU, or the least that its kernels need (TF32 needs 8.0)"
)
def _gpu_capability(measured: Measured) -> Value | Missing:
    fact = measured.recording.facts.get("gpu_capability")
    if fact:
        return float(fact)
    trace = measured.recording.timeline
    unknown = Missing("the GPU's compute capability is not in this recording", in_trace=ONLY_IN_A_RUN)
    if trace is None or any(
        key.startswith(("hip", "roctracer")) for key in trace.info
    ):  # AMD's numbers mean something else
        return unknown
    if told := _told_capability(trace):
        return told
    needed = [least_capability(name) for name in set(trace.device["name"].unique())]
    return max((least for least in needed if least), default=unknown)


def _told_capability(trace: Trace) -> float | None:
    """Of the GPU that worked most, as the head of the file tells it; None for what is no capability."""
    gpu = next(iter(gpus_listed(trace)), {})
    major, minor = gpu.get("computeMajor"), gpu.get("computeMinor", 0)
    is_known = type(major) is int and type(minor) is int and 1 <= major <= 99 and 0 <= minor <= 9
    return float(f"{major}.{minor}") if is_known else None


@metric(
    "deterministic",
    "yes/no",
    "Deterministic algorithms are on (`torch.use_deterministic_algorithms` or `cudnn.deterministic`)",
)
def _deterministic(measured: Measured) -> Value | Missing:
    if not measured.recording.facts:
        return NO_FACTS
    return any(bool(measured.recording.facts.get(name)) for name in ("deterministic", "cudnn_deterministic"))
