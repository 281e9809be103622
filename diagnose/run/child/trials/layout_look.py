"""What models of pictures or volumes take on the processor with these in the channels_last layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..channels_last import FORMATS, channels_last, is_picture
from ..inspection import kernels_of
from ..tensors import map_tensors, tensors_near
from .copies import CopyLook, Seen, copied, detached, in_turns

_BYTES_AT_MOST = 1 << 28  # of a model's weights: two copies are made


class LayoutLook(CopyLook):
    what = "trying the layout of pictures"
    outermost = True

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        """The models, and parts of theirs with several convolutions."""
        return [
            part
            for model in models
            for part in model.modules()
            if _convolves(part, at_least=1 if part is model else 2)
        ]

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether it is given pictures, or makes them itself of what it is given."""
        given = tensors_near((*args, *kwargs.values()))
        return any(map(is_picture, given)) or not self._leaves_it_to_a_part(module)

    def _leaves_it_to_a_part(self, module: nn.Module) -> bool:
        """Whether a part of its own, one that is called, is looked for too."""
        return any(
            id(part) in self._modules
            for part in module.modules()
            if part is not module and not isinstance(part, (nn.ModuleList, nn.ModuleDict))
        )

    def tried(self, seen: Seen) -> dict[str, Any]:
        as_is, changed = copied(seen.module), copied(seen.module)
        for part in changed.modules():
            if isinstance(part, (nn.Conv2d, nn.Conv3d)):
                for kernel in kernels_of(part):  # `contiguous` leaves those of one channel as they are
                    kernel.data = kernel.data.to(memory_format=FORMATS[kernel.dim()])

        def call_as_is() -> Any:
            args, kwargs = detached(seen.arguments)
            return as_is(*args, **kwargs)

        def call_laid_out() -> Any:
            args, kwargs = map_tensors(channels_last, detached(seen.arguments))
            return changed(*args, **kwargs)

        with _Reshaping():
            told = in_turns((as_is, call_as_is), (changed, call_laid_out), with_graph=seen.with_graph)
        return {"class": type(seen.module).__name__, **told}


class _Reshaping(TorchFunctionMode):
    """`view` as `reshape`: of pictures laid out otherwise it would be refused."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return (Tensor.reshape if func is Tensor.view and _is_shape(args) else func)(*args, **(kwargs or {}))


def _is_shape(args: tuple[Any, ...]) -> bool:
    return not any(isinstance(argument, torch.dtype) for argument in args)


def _convolves(model: nn.Module, at_least: int) -> bool:
    """With so many convolutions of pictures or volumes, of which none is laid out so already."""
    layers = (module for module in model.modules() if isinstance(module, (nn.Conv2d, nn.Conv3d)))
    weights = [kernel for module in layers for kernel in kernels_of(module)]
    large = [weight for weight in weights if weight.shape[1] > 1 and weight[0, 0].numel() > 1]
    fits = sum(weight.nbytes for weight in model.parameters()) <= _BYTES_AT_MOST
    return len(large) >= at_least and fits and all(weight.is_contiguous() for weight in weights)
