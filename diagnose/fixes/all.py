"""Every automatic fix, the whole of it but for the class that makes it inside the user's process."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from diagnose.errors import DiagnoseError, known_name
from diagnose.fixes import environment
from diagnose.fixes.fix import (
    SEE,
    TOLERANCE,
    TOLERANCE_IN_8_BITS,
    TOLERANCE_IN_16_BITS,
    Argument,
    Changes,
    Fix,
    Where,
)

Spec = dict[str, Any]  # a fix to be made: its name, arguments and sites

BEFORE = "DIAGNOSE_ENVIRONMENT_BEFORE"  # tells the child what the variables that are changed were
_VARIABLE = "it is an environment variable of the run: no line of the script changes"


def _cores() -> int:
    return max(1, len(os.sched_getaffinity(0)))


_ALL = (
    Fix(
        "affinity",
        what="Bind the process to these cores",
        child="host:Affinity",
        arguments=(Argument("cores"),),
        needs_arguments=True,
        by_hand="it is how the script is started: no line of it changes",
        environment=environment.affinity,
    ),
    Fix(
        "allocator",
        what="Load jemalloc or tcmalloc in place of malloc, or have glibc's keep what is freed",
        child="startup:Allocator",
        arguments=(Argument("library"),),
        needs_arguments=True,
        by_hand=_VARIABLE,
        environment=environment.allocator,
    ),
    Fix(
        "anomaly_mode_off",
        what="Keep autograd's anomaly mode off",
        child="debugging:AnomalyModeOff",
        patch="edits:anomaly_mode_off",
        where=Where.FILE,
    ),
    Fix(
        "autocast",
        what="Call models under `torch.autocast`; losses in float16 are scaled",
        child="autocast:Autocast",
        arguments=(Argument("dtype"),),
        by_hand=f"it goes around the forward: {SEE}",
        tolerance=TOLERANCE_IN_16_BITS,
    ),
    Fix(
        "backend_flags",
        what="Set switches of torch's backends",
        child="flags:BackendFlags",
        arguments=(
            Argument(
                "allow_tf32",
                settings=("torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32"),
            ),
            Argument("cudnn_benchmark", settings=("torch.backends.cudnn.benchmark",)),
            Argument("cudnn_sdp", settings=("torch.backends.cuda.enable_cudnn_sdp()",)),
            Argument("flash_sdp", settings=("torch.backends.cuda.enable_flash_sdp()",)),
            Argument("math_sdp", settings=("torch.backends.cuda.enable_math_sdp()",)),
            Argument("matmul_precision", settings=("torch.set_float32_matmul_precision()",)),
            Argument("mem_efficient_sdp", settings=("torch.backends.cuda.enable_mem_efficient_sdp()",)),
        ),
        needs_arguments=True,
        patch="settings:setting_changes",
        where=Where.PROCESS,
    ),
    Fix(
        "channels_last",
        what="Keep the model and its inputs in channels-last memory format",
        child="layout:ChannelsLast",
        by_hand=f"it changes where the model is built and what it is fed: {SEE}",
    ),
    Fix(
        "compile",
        what="Call `torch.compile(model)` in place of each model",
        child="compiled:Compile",
        arguments=(Argument("backend"), Argument("mode")),
        by_hand=f"it changes where the model is built: {SEE}",
    ),
    Fix(
        "dataloader",
        what="Make the DataLoader with other arguments",
        child="loader:LoaderArguments",
        arguments=(
            Argument("num_workers", largest=_cores),
            Argument("prefetch_factor", largest=lambda: 64),
            Argument("batch_size", largest=lambda: 2**20),
            Argument("multiprocessing_context"),
            Argument("persistent_workers"),
            Argument("pin_memory"),
        ),
        needs_arguments=True,
        patch="edits:dataloader",
    ),
    Fix(
        "ddp",
        what="Make DistributedDataParallel with other arguments",
        child="distributed:DistributedArguments",
        arguments=(
            Argument("bucket_cap_mb"),
            Argument("find_unused_parameters"),
            Argument("gradient_as_bucket_view"),
            Argument("static_graph"),
        ),
        needs_arguments=True,
        patch="edits:ddp",
        where=Where.FILE,
    ),
    Fix(
        "empty_cache_off",
        what="Pass over `torch.cuda.empty_cache()`",
        child="debugging:EmptyCacheOff",
        by_hand=f"the call goes: {SEE}",
    ),
    Fix(
        "expandable_segments",
        what="Let torch's CUDA allocator grow its segments",
        child="startup:ExpandableSegments",
        by_hand=_VARIABLE,
        environment=environment.expandable_segments,
    ),
    Fix(
        "fold_conv_norm",
        what="Fold batch norms into the convolutions before them, in evaluation",
        child="folding:FoldConvNorm",
        by_hand=f"it changes where the model is built: {SEE}",
    ),
    Fix(
        "gc_freeze",
        what="Call `gc.freeze()` after the first step",
        child="host:GarbageFreeze",
        by_hand=f"it goes before the training loop: {SEE}",
    ),
    Fix(
        "inference_mode",
        what="Call models under `torch.inference_mode()`",
        child="evaluation:InferenceMode",
        patch="edits:inference_mode",
        where=Where.BLAMED_LINE,
    ),
    Fix(
        "launch_blocking_off",
        what="Remove `CUDA_LAUNCH_BLOCKING`",
        child="startup:LaunchBlockingOff",
        by_hand=_VARIABLE,
        environment=environment.no_launch_blocking,
    ),
    Fix(
        "non_blocking",
        what="Copy to the GPU with `non_blocking=True`",
        child="transfers:NonBlocking",
        patch="edits:non_blocking",
        where=Where.BLAMED_LINE,
    ),
    Fix(
        "openmp",
        what="Bind OpenMP's threads to cores, let them wait in another way, or take another OpenMP",
        child="startup:OpenMP",
        arguments=(
            Argument("bind"),
            Argument("block_ms"),
            Argument("library"),
            Argument("places"),
            Argument("wait"),
        ),
        needs_arguments=True,
        by_hand=_VARIABLE,
        environment=environment.openmp,
    ),
    Fix(
        "optimizer",
        what="Make torch's optimizers with `fused=True`, `foreach=True` or `foreach=False`",
        child="optimizer:OptimizerArguments",
        arguments=(Argument("foreach"), Argument("fused")),
        needs_arguments=True,
        patch="edits:optimizer",
        where=Where.FILE,
    ),
    Fix(
        "onnxruntime",
        what="Serve models exported to ONNX by ONNX Runtime, on processors (with onnxruntime, onnxscript)",
        child="serving:OnnxRuntime",
        by_hand=f"it changes where the model is built: {SEE}",
    ),
    Fix(
        "own_profiler_off",
        what="Let the script's own profilers record nothing",
        child="debugging:OwnProfilerOff",
        by_hand=f"the profiler's own lines go: {SEE}",
    ),
    Fix(
        "quantize",
        what="Serve models with weights of linear and recurrent layers in eight bits, on processors",
        child="serving:Quantize",
        by_hand=f"it changes where the model is built: {SEE}",
        tolerance=TOLERANCE_IN_8_BITS,
    ),
    Fix(
        "threads",
        what="Compute with so many threads",
        child="host:Threads",
        arguments=(Argument("count", settings=("torch.set_num_threads()",)),),
        needs_arguments=True,
        patch="settings:setting_changes",
        where=Where.PROCESS,
        environment=environment.threads,
    ),
    Fix(
        "torchscript",
        what="Serve models traced, frozen and optimised by TorchScript",
        child="serving:TorchScript",
        by_hand=f"it changes where the model is built: {SEE}",
    ),
    Fix(
        "zero_grad",
        what="Let `zero_grad` set gradients to None",
        child="optimizer:ZeroGrad",
        patch="edits:zero_grad",
    ),
)
FIXES = {fix.name: fix for fix in _ALL}


def check(name: str, arguments: Collection[str], where: str) -> None:
    """Raises DiagnoseError if there is no such fix, if it takes no argument of such
    a name, or needs one and gets none.
    """
    fix = FIXES[known_name(name, FIXES, f"{where}: intervention")]
    takes = sorted(argument.name for argument in fix.arguments)
    for argument in arguments:
        known_name(argument, takes, f"{where}: argument of {name}")
    if fix.needs_arguments and not arguments:
        raise DiagnoseError(f"{where}: {name} needs arguments", do=f"it takes {', '.join(takes)}")


def for_child(spec: Spec) -> Spec:
    """What the child is told of a fix to be made: with the class that makes it."""
    return spec | {"class": FIXES[spec["name"]].child}


def environment_of(specs: Iterable[Spec], variables: Mapping[str, str]) -> Changes:
    """The variables to set, and with None those to remove, for these fixes; empty if they need none."""
    changes: Changes = {}
    for spec in specs:
        needs = FIXES[spec["name"]].environment
        if needs is not None:
            changed = {name: value for name, value in {**variables, **changes}.items() if value is not None}
            changes |= needs(spec.get("arguments", {}), changed)
    if changes:
        changes[BEFORE] = json.dumps({name: variables.get(name) for name in changes})
    return changes


def variables_of(specs: Iterable[Spec], variables: Mapping[str, str]) -> Changes:
    """The same for who starts the script by hand."""
    changes = environment_of(specs, variables)
    return {name: value for name, value in changes.items() if name not in (BEFORE, environment.CORES)}


def tolerance_of(names: Iterable[str]) -> float:
    """For these fixes together."""
    return max((FIXES[name].tolerance for name in names), default=TOLERANCE)
