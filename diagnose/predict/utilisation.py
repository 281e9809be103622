"""How many samples a process trains on in a second, and how much of its GPU's peak the model uses.

MFU is *model FLOPs utilisation* as PaLM defines it (Chowdhery et al. 2022, appendix B): the FLOP that the
model needs for a step ÷ the step's time ÷ the peak of the GPU. What is computed a second time does not count
(activation checkpointing; flash attention's backward).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from diagnose.measure.areas.input import feeding_loader
from diagnose.measure.kernel_names import REDUCED_PRECISION_KERNEL
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection
from diagnose.measure.view import category_matches
from diagnose.predict.retiming import format_of, gpu_peaks, works_of
from diagnose.trace.distinct import distinct

# Kernels that compute products, by the names that cuBLAS, cuDNN, CUTLASS, Triton's and ROCm's libraries give.
PRODUCT_KERNEL = (
    r"(?i)gemm|gemv|conv|xmma|wgmma|cutlass|nvjet|winograd|flash|fmha|attention|Cijk_|dgrad|wgrad"
)
COUNTED_SHARE = 0.95  # of such kernels' time: with less of it known, the FLOP of the model are not
GRADIENTS = 2  # products that a backward needs at most for one of the forward


@dataclass(frozen=True)
class ModelFlop:
    """``number_format``: that most of them are computed in."""

    per_step: float
    number_format: str


@dataclass(frozen=True)
class Throughput:
    """What a step gets done; None where it is not known. The fields are those of the document's steps."""

    samples_per_step: float | None
    samples_per_s: float | None
    model_flop: float | None
    mfu: float | None
    mfu_format: str | None


def throughput(measured: Measured, step_ms: float | None) -> Throughput:
    samples = samples_per_step(measured)
    used = model_flops_utilisation(measured, step_ms)
    mfu, flop = used or (None, None)
    return Throughput(
        samples_per_step=samples,
        samples_per_s=samples / step_ms * 1e3 if samples and step_ms else None,
        model_flop=flop.per_step if flop else None,
        mfu=mfu,
        mfu_format=flop.number_format if flop else None,
    )


def samples_per_step(measured: Measured) -> float | None:
    """The samples of one process: the loader's batch size × the batches it brings in a step, so that
    accumulated gradients count. Without a loader that makes batches, what the only model is given: the first
    dimensions of its inputs, where it is called to train only or to infer only. None where neither is known.
    """
    facts, per_step = measured.recording.facts, measured.recording.clock.get("per_step") or {}
    loader = feeding_loader(measured)
    if not isinstance(loader, Missing) and loader.get("batch_size"):
        alone = len(facts["loaders"]) == 1
        batches = loader.get("batches_per_step") or (per_step.get("fetch") if alone else None)
        return float(loader["batch_size"] * batches) if batches else None
    forward, calls = facts.get("forward") or {}, per_step.get("forward")
    samples, count = forward.get("sample_count"), forward.get("count")
    if not samples or not calls or forward.get("training_count") not in (0, count):
        return None
    return float(samples / count * calls)


def model_flops_utilisation(measured: Measured, step_ms: float | None) -> tuple[float, ModelFlop] | None:
    """The share of the GPU's peak, 0–1; None where the peak or the model's FLOP are not known."""
    view = measured.timeline
    peaks = gpu_peaks(view) if view is not None and view.has_device else None
    flop = model_flop(view) if view is not None and peaks is not None else None
    if peaks is None or flop is None or not step_ms:
        return None
    peak = peaks.flops_per_s.get(flop.number_format)
    share = flop.per_step / (step_ms / 1e3 * peak) if peak else 0.0
    return (share, flop) if 0 < share <= 1 else None


def model_flop(view: Selection) -> ModelFlop | None:
    """The FLOP of a step, from the shapes of the operators that launched its kernels. The backward counts
    up to ``GRADIENTS`` times the forward: what it does beyond is done again.

    None where several GPUs compute, or where too many kernels of products have no known operator.
    """
    device = view.device
    kernels = np.flatnonzero((device["kind"] == "kernel").to_numpy() & view.device_in_steps)
    if not len(kernels) or len(set(device["device"].to_numpy()[kernels].tolist())) > 1:
        return None
    calls = device["op"].to_numpy()[kernels]
    works = {call: work for call, work in works_of(view, distinct(calls)).items() if work.flop}
    counted = np.isin(calls, list(works))
    names = device["name"].array
    products = counted | category_matches(names, PRODUCT_KERNEL)[kernels]
    dur = device["dur_ns"].to_numpy()[kernels]
    if not counted.any() or dur[counted].sum() < COUNTED_SHARE * dur[products].sum():
        return None
    reduced = set(calls[category_matches(names, REDUCED_PRECISION_KERNEL)[kernels]].tolist())
    in_backward, in_steps = view.host["backward"].to_numpy(), view.in_steps
    flop, formats = {False: 0, True: 0}, Counter[str]()
    for call, work in works.items():
        if in_steps[call]:
            flop[bool(in_backward[call])] += work.flop
            formats[format_of(work, call in reduced)] += work.flop
    whole = flop[False] + min(flop[True], GRADIENTS * flop[False])
    return ModelFlop(whole / view.step_count, formats.most_common(1)[0][0]) if whole else None
