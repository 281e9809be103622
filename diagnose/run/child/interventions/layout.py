"""The layout in memory of pictures and of what convolves them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy

from ..channels_last import FORMATS, channels_last
from ..inspection import CONVOLUTIONS, kernels_of
from ..tensors import map_tensors
from .base import Sites
from .forwards import ForwardIntervention


class ChannelsLast(ForwardIntervention):
    """Convolutions become channels_last with the first batch, and the batches from then on."""

    def __init__(self, sites: Sites) -> None:
        super().__init__(sites)
        self._converted: weakref.WeakKeyDictionary[nn.Module, bool] = weakref.WeakKeyDictionary()

    def forward(
        self, module: nn.Module, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        converted = self._converted.get(module)
        if converted is None and any(map(is_lazy, module.parameters())):
            return run(*args, **kwargs)
        if converted is None:
            converted = self._converted[module] = self._convert(module)
        if not converted:
            return run(*args, **kwargs)
        copies: list[tuple[torch.Tensor, torch.Tensor, int | None]] = []

        def convert(tensor: torch.Tensor) -> torch.Tensor:
            converted = channels_last(tensor)
            if converted is not tensor:
                copies.append((tensor, converted, _version(converted)))
            return converted

        result = run(*map_tensors(convert, args), **map_tensors(convert, kwargs))
        changed = [(given, copy) for given, copy, version in copies if _version(copy) != version]
        if changed:
            self._converted[module] = False
            self.pass_over("The model changes what it is given in place.")
            self.count -= 1
            for given, copy in changed:
                given.copy_(copy)
        return result

    def _convert(self, model: nn.Module) -> bool:
        found: list[tuple[Any, torch.Tensor]] = [
            (module, kernels[0])
            for module in model.modules()
            if isinstance(module, CONVOLUTIONS)
            and (kernels := kernels_of(module))
            and kernels[0].dim() in FORMATS
        ]
        if not found:
            self.pass_over("The model has no two- or three-dimensional convolutions.")
        elif isinstance(model, DistributedDataParallel):
            self.pass_over("DistributedDataParallel has laid out the gradients before the first batch comes.")
        elif all(kernel.is_contiguous(memory_format=FORMATS[kernel.dim()]) for _, kernel in found):
            self.pass_over("The convolutions are channels_last already.")
        else:
            with torch.inference_mode(False), torch.no_grad():
                for module, kernel in found:
                    module.to(memory_format=FORMATS[kernel.dim()])
            self.count += 1
            return True
        return False


def _version(tensor: torch.Tensor) -> int | None:
    """Another one after each change in place; None of tensors of inference, of which torch counts none."""
    return None if tensor.is_inference() else tensor._version
