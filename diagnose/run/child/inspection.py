"""A closer look at one forward of a model, during the detail phase where times do not count."""

from __future__ import annotations

import contextlib
import math
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import _get_current_function_mode
from torch.utils._python_dispatch import _get_current_dispatch_mode

from .guard import guarded
from .tensors import tensors_in

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
NORMS = (
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
    nn.SyncBatchNorm,
    nn.InstanceNorm1d,
    nn.InstanceNorm2d,
    nn.InstanceNorm3d,
)


def compiler_in_use() -> bool:
    """Hooks are part of what a compiled graph is valid for, so they would cause a recompilation."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and bool(dynamo.counters["frames"])


def inside_a_mode() -> bool:
    """Whether a block of the script's has a mode of torch's on, as `with torch.device("cuda"):`. One put on
    top of it would be taken off in its place when the block ends. A default device stays on for good.
    """
    default = getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)
    mode = _get_current_function_mode()
    return _get_current_dispatch_mode() is not None or (mode is not None and mode is not default)


def inside_a_restoring_block() -> bool:
    """Whether a block of `inference_mode` or a function that `torch.func` runs (`vmap`, `grad`) goes on. They
    put back which modes were on before them: one that has come or gone since would be half on.
    """
    return torch.is_inference_mode_enabled() or inside_a_transform()


def inside_a_transform() -> bool:
    """Whether a function that `torch.func` runs (`vmap`, `grad`) goes on: tensors are not what they seem."""
    peek = getattr(torch._C._functorch, "peek_interpreter_stack", None)
    return peek is not None and peek() is not None


def inside_forward_mode() -> bool:
    """Whether derivatives are computed with the values (`torch.autograd.forward_ad`)."""
    return torch.autograd.forward_ad._current_level >= 0


@contextlib.contextmanager
def without_saved_tensors_hooks() -> Iterator[None]:
    """The script's hooks on what autograd saves, as those of a checkpoint, see nothing of what runs in here.
    Only the innermost hooks are called.
    """
    innermost = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    if innermost is not None and innermost(False) is None:
        yield
        return
    with torch.autograd.graph.saved_tensors_hooks(_as_it_is, _as_it_is):
        yield


def _as_it_is(saved: torch.Tensor) -> torch.Tensor:
    return saved


def in_backward() -> bool:
    """Whether autograd runs what goes on in this thread, as where a checkpoint computes its part again."""
    return bool(torch._C._current_graph_task_id() != -1)


def kernels_of(convolution: nn.Module) -> list[torch.Tensor]:
    """Its parameters that are one, or what one is made of. Asked for as `weight`, that of a layer with
    spectral norm would be computed anew, which takes its power iteration further.
    """
    return [parameter for parameter in convolution.parameters() if parameter.dim() > 2]


class Pair(NamedTuple):
    """A convolution and the norm that gets its very output, by name."""

    conv: str
    norm: str
    biased: bool
    folds: bool  # the norm is a BatchNorm in evaluation, which is a constant factor and shift


def pair_of(conv: nn.Module, norm: nn.Module, conv_name: str, norm_name: str) -> Pair:
    is_batch_norm = isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
    folds = (
        is_batch_norm
        and not norm.training
        and norm.running_mean is not None
        and not getattr(conv, "transposed", False)
    )
    return Pair(conv_name, norm_name, conv.bias is not None, folds)


@contextlib.contextmanager
def convolutions_before_norms(model: nn.Module, found: list[Pair]) -> Iterator[None]:
    """Adds to `found` every convolution whose very output a norm gets as its input."""
    names = {module: name for name, module in model.named_modules()}
    convolutions = [module for module in names if isinstance(module, CONVOLUTIONS)]
    norms = [module for module in names if isinstance(module, NORMS)] if convolutions else []
    outputs: list[tuple[weakref.ref[torch.Tensor], nn.Module]] = []

    @guarded("looking for convolutions before norms")
    def convolved(module: nn.Module, inputs: Any, output: torch.Tensor) -> None:
        outputs.append((weakref.ref(output), module))

    @guarded("looking for convolutions before norms")
    def normed(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        for output, convolution in outputs:
            if inputs and output() is inputs[0]:
                pair = pair_of(convolution, module, names[convolution], names[module])
                if pair not in found:
                    found.append(pair)

    handles = [module.register_forward_hook(convolved) for module in convolutions] if norms else []
    handles += [module.register_forward_pre_hook(normed) for module in norms]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def kept_for_backward(model: nn.Module, tell: Callable[[int], None]) -> Iterator[None]:
    """Tells about how many bytes autograd keeps of this forward: of each operator that keeps anything, as
    many as its result has. Hooks on what is saved would know, and functions of `torch.func` refuse to run
    beside such hooks.
    """

    @guarded("looking at what is kept for a backward")
    def ended(module: nn.Module, inputs: Any, output: Any) -> None:
        tell(sum(_result_bytes(node) for node in _graph_of(tensors_in(output)) if _keeps(node)))

    handle = model.register_forward_hook(ended)
    try:
        yield
    finally:
        handle.remove()


def _graph_of(results: Iterable[torch.Tensor]) -> Iterator[Any]:
    """The nodes of the graph that the results come from."""
    nodes, seen = [result.grad_fn for result in results], set()
    while nodes:
        node: Any = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            nodes += [before for before, _ in node.next_functions]


def _keeps(node: Any) -> bool:
    return any(name.startswith("_raw_saved_") for name in dir(node))


def _result_bytes(node: Any) -> int:
    return sum(math.prod(one.shape) * one.dtype.itemsize for one in getattr(node, "_input_metadata", ()))
