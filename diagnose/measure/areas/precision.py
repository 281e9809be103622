"""Precision: the number formats that matrix multiplications and convolutions compute in."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.convolutions import CONVOLUTION_OP
from diagnose.measure.areas.kernels import MATMUL_OP, kernels_of, on_gpu
from diagnose.measure.areas.operators import input_shapes, shape_of
from diagnose.measure.areas.same_inputs import RANDOM_OP
from diagnose.measure.areas.small_ops import dispatch_time
from diagnose.measure.kernel_names import (
    CONVOLUTION_KERNEL,
    FLOAT32_INPUTS,
    PRODUCT_KERNEL,
    REDUCED_PRECISION_KERNEL,
    number_format,
)
from diagnose.measure.ledger import COPY_OP
from diagnose.measure.measured import FactPlace, Measured, Value, fact_metric, fact_selector, metric
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, selector
from diagnose.measure.sizes import number_counts
from diagnose.measure.view import NO_ROWS, Intervals, Rows, category_matches, once, test_at
from diagnose.measure.work import in_rows, outermost, work_time
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import subtract

FORWARD_MATMUL_OP = r"^aten::(mm|addmm|bmm|baddbmm)$"
# A convolution's backward takes a list (the output mask, or old torch's sizes) first.
SINGLE, DOUBLE, SIXTEEN_BITS = (
    rf'^\[("GenericList", )?"{name}"' for name in ("float", "double", "c10::(Half|BFloat16)")
)
INTEGER_MATMUL_OP = r"^aten::(mm|addmm|bmm|baddbmm|mv|addmv|dot)$"
LONG = r'^\["long int"'
FACTORIZATION_OP = (
    r"^aten::(_?linalg_(cholesky_ex|eigh?|qr|svd|lu|lu_factor_ex|ldl_factor_ex|inv_ex|solve_ex|slogdet|det|lstsq"
    r"|solve_triangular)|cholesky_solve|cholesky_inverse|triangular_solve)$"
)
LINEAR_LAYER_OP = r"^aten::(linear|conv[123]d|lstm|gru)$"
# so many times as large as what is factorized is a batch, and no matrix
_FAR_LARGER = 4
# 16-bit numbers in 16 bytes, what a tensor core's load takes at once (NVIDIA, Matrix Multiplication
# Background)
ALIGNMENT = 8

NO_SCALER = Missing("no GradScaler was used")


def _with_dtypes(view: Selection, pattern: str) -> np.ndarray:
    """Which host events have recorded input types that match."""
    return category_matches(view.host["dtypes"].array, pattern)


def _matmuls_with(view: Selection, dtypes: str) -> Rows:
    """Matrix-multiply and convolution kernels whose operator has these input types."""
    rows = kernels_of(view, MATMUL_OP)
    return rows[_with_dtypes(view, dtypes)[view.device["op"].to_numpy()[rows]]]


def _products_named(view: Selection, *formats: str) -> Rows:
    """Kernels of matrix products and convolutions that say by their names that they compute in one of these
    formats: without shapes, and in a CUDA graph, no operator tells.
    """
    names = view.device["name"].array
    rows = np.flatnonzero(category_matches(names, PRODUCT_KERNEL) & view.device_in_steps)
    return rows[test_at(names, rows, lambda name: number_format(name) in formats)]


def _convolutions(view: Selection) -> Rows:
    """Kernels of convolutions: by their operator, else by their name."""
    named = category_matches(view.device["name"].array, CONVOLUTION_KERNEL) & view.device_in_steps
    of_operators = kernels_of(view, CONVOLUTION_OP)
    return distinct(of_operators, np.setdiff1d(np.flatnonzero(named), kernels_of(view, MATMUL_OP)))


@once
def _plain_single(view: Selection) -> Rows:
    """Products and convolutions in 32-bit floats, without those that a name tells to use TF32."""
    rows = _matmuls_with(view, SINGLE)
    plain = rows[~category_matches(view.device["name"].array, REDUCED_PRECISION_KERNEL)[rows]]
    return distinct(plain, _products_named(view, "fp32"))


@selector(
    "fp32_matmul", "kernels of matrix multiplications in plain 32-bit floats", table="device", needs="formats"
)
def _fp32_matmul(view: Selection) -> Rows:
    return np.setdiff1d(_plain_single(view), _convolutions(view))


@selector(
    "fp32_convolutions", "kernels of convolutions in plain 32-bit floats", table="device", needs="formats"
)
def _fp32_convolutions(view: Selection) -> Rows:
    return np.intersect1d(_plain_single(view), _convolutions(view))


@selector(
    "float32_matmul",
    "kernels of matrix multiplications and convolutions with 32-bit inputs, TF32 included",
    table="device",
    needs="formats",
)
def _float32_matmul(view: Selection) -> Rows:
    either = category_matches(view.device["name"].array, FLOAT32_INPUTS) & view.device_in_steps
    named = distinct(_products_named(view, "fp32", "tf32"), np.flatnonzero(either))
    return distinct(_matmuls_with(view, SINGLE), np.setdiff1d(named, _matmuls_with(view, SIXTEEN_BITS)))


@metric("autocast_in_use", "yes/no", "Autocast was on, or matrix multiplications have 16-bit inputs")
def _autocast_in_use(measured: Measured) -> Value | Missing:
    return bool(measured.recording.facts.get("autocast")) or on_gpu(
        measured,
        lambda view: bool(
            len(_matmuls_with(view, SIXTEEN_BITS)) or len(_products_named(view, "fp16", "bf16"))
        ),
    )


def _float64(view: Selection) -> Rows:
    """Outermost operators that compute with 64-bit inputs; converting them is what should be done, and
    drawing random numbers takes as long for 32 bits.
    """
    others = view.name_matches(COPY_OP) | view.name_matches(RANDOM_OP)
    return outermost(view, np.asarray(view.kind == "op") & _with_dtypes(view, DOUBLE) & ~others)


def _beyond_dispatch(view: Selection, work: Intervals) -> Intervals:
    """On a CPU: starting an operator takes as long for 32 bits."""
    return work if view.has_device else subtract(work, dispatch_time(view))


@selector(
    "float64_ops",
    "operators with 64-bit float inputs (counted without backward and optimizer)",
    needs="shapes",
    attributed=lambda view, rows: _beyond_dispatch(view, work_time(view, _float64(view))),
)
def _float64_ops(view: Selection) -> Rows:
    return view.of_the_script(_float64(view))


@selector(
    "float64_factorizations",
    "factorizations and inverses of 64-bit matrices, and solutions of their systems",
    needs="shapes",
)
def _float64_factorizations(view: Selection) -> Rows:
    return view.named(view.name_matches(FACTORIZATION_OP) & _with_dtypes(view, DOUBLE))


@once
def _float64_layers(view: Selection) -> Rows:
    """Those of the operators that compute with 64-bit inputs whose inputs are far larger than the matrices
    that are factorized, where layers with weights are among them.
    """
    rows, matrices = _float64(view), _float64_factorizations(view)
    if not len(matrices):
        return NO_ROWS
    largest = _largest_inputs(view)
    large = rows[largest[rows] >= _FAR_LARGER * largest[matrices].max()]
    return large if view.name_matches(LINEAR_LAYER_OP)[large].any() else NO_ROWS


def _largest_inputs(view: Selection) -> np.ndarray:
    """How many numbers each host event's largest input has; -1 where no shape was recorded."""
    shapes = view.host["shapes"].array
    return np.array([*(max(number_counts(text)) for text in shapes.categories), -1])[shapes.codes]


@selector(
    "float64_layers",
    "layers and their operators in 64 bits beside far smaller matrices that are factorized (counted without "
    "backward and optimizer)",
    needs="shapes",
    attributed=lambda view, rows: work_time(view, _float64_layers(view)),
)
def _float64_layer_ops(view: Selection) -> Rows:
    return view.of_the_script(_float64_layers(view))


@selector(
    "integer_products",
    "products of matrices of 64-bit integers, which no library of kernels has",
    needs="shapes",
)
def _integer_products(view: Selection) -> Rows:
    return view.named(view.name_matches(INTEGER_MATMUL_OP) & _with_dtypes(view, LONG))


@selector(
    "unaligned_matmul",
    "16-bit matrix multiplications in the forward with an inner or last dimension that is not a "
    "multiple of 8",
    needs="shapes",
    attributed=lambda view, rows: in_rows(view, work_time(view, rows), "compute"),
)
def _unaligned_matmul(view: Selection) -> Rows:
    forward = view.name_matches(FORWARD_MATMUL_OP) & ~view.host["backward"].to_numpy()
    rows = view.named(forward & _with_dtypes(view, SIXTEEN_BITS))
    return rows[test_at(view.host["shapes"].array, rows, _has_unaligned_dimension)]


def _has_unaligned_dimension(shapes: str) -> bool:
    """Of ``[…, [m, k], [k, n]]``, the last two matrices: k or n.

    How many rows there are (m) does not matter for row-major data.
    """
    matrices = [shape for one in input_shapes(shapes) if len(shape := shape_of(one)) >= 2]
    if len(matrices) < 2:
        return False
    inner, last = matrices[-1][-2:]
    return min(inner, last) >= ALIGNMENT and bool(inner % ALIGNMENT or last % ALIGNMENT)


fact_metric("matmul_precision", "", "`torch.get_float32_matmul_precision()`")


@metric("tf32_allowed", "yes/no", "The settings allow TF32 for matrix multiplications (no if not known)")
def _tf32_allowed(measured: Measured) -> Value | Missing:
    return measured.recording.facts.get("matmul_precision") in ("high", "medium")


fact_metric("cudnn_allow_tf32", "yes/no", "`torch.backends.cudnn.allow_tf32` is on, as it is by default")


@metric("skipped_step_count", "count", "Number of plain steps whose update the GradScaler skipped")
def _skipped_step_count(measured: Measured) -> Value | Missing:
    scaler = measured.fact("grad_scaler", NO_SCALER)
    if isinstance(scaler, Missing):
        return scaler
    skipped = scaler.get("skipped_count")
    return (
        Missing("a fused optimizer skips steps on the GPU, where nothing counts them")
        if skipped is None
        else int(skipped)
    )


@metric("skipped_step_share", "share", "Share of plain steps whose update the GradScaler skipped")
def _skipped_step_share(measured: Measured) -> Value | Missing:
    skipped = measured.metric("skipped_step_count")
    return (
        skipped
        if isinstance(skipped, Missing)
        else float(skipped) / max(1, measured.fact("grad_scaler")["step_count"])
    )


@fact_selector("skipped_steps", "steps whose update the GradScaler skipped")
def _skipped_steps(measured: Measured) -> list[FactPlace] | Missing:
    share = measured.metric("skipped_step_share")
    if isinstance(share, Missing):
        return share
    return [FactPlace("", -1, "", float(share), float(share) * measured.number("step_ms"))] if share else []
