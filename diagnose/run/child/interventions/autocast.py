"""The model in half precision."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..inspection import in_backward
from ..places import NOWHERE
from ..tensors import map_tensors
from .base import Sites
from .forwards import ForwardIntervention
from .loss_scaling import LossScaling


class _Ours(torch.autocast):
    """To be told from the script's own."""


class Autocast(ForwardIntervention):
    """Calls models under torch.autocast; what they return is float32 again.

    With float16 the losses are scaled.
    """

    def __init__(self, sites: Sites, *, dtype: str = "bfloat16") -> None:
        super().__init__(sites)
        self._dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
        self._scaling = LossScaling(self.refuse) if self._dtype is torch.float16 else None

    def install(self) -> None:
        super().install()
        self.patches.replace(torch.autocast, "__init__", self._noticing(torch.autocast.__init__))
        if self._scaling is not None:
            self._scaling.install()

    def remove(self) -> None:
        if self._scaling is not None:
            self._scaling.remove()
        super().remove()

    def refuse(self, why: str) -> None:
        super().refuse(why)
        if self._scaling is not None:
            self._scaling.give_up()

    def forward(
        self, module: nn.Module, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        parameter = next(module.parameters())
        device = parameter.device.type
        if parameter.dtype is not torch.float32:
            self.pass_over(
                f"The model's parameters are {str(parameter.dtype).removeprefix('torch.')} already."
            )
            return run(*args, **kwargs)
        if torch.is_autocast_enabled(device):
            self.refuse("The script uses autocast already.")
            return run(*args, **kwargs)
        context = self._context(device)
        if context is None:
            return run(*args, **kwargs)
        if self._scaling is not None:
            self._scaling.begin(device)
        self.count += 1
        with context:
            result = run(*args, **kwargs)
        return map_tensors(_in_full, result)

    def _context(self, device: str) -> Any:
        try:
            context = _Ours(device, dtype=self._dtype)
        except Exception as error:  # a device without the type
            self.refuse(f"torch refuses it: {error}")
            return None
        if not context._enabled:
            self.refuse(f"torch has no autocast to {self._dtype} on this {device}.")
            return None
        return context

    def _noticing(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(context: Any, *args: Any, **kwargs: Any) -> None:
            original(context, *args, **kwargs)
            theirs = getattr(context, "_enabled", False) and not isinstance(context, _Ours)
            # checkpoints do in backward, and DataParallel in its threads, what was done outside
            if theirs and not in_backward() and self.sites.places.nearest(sys._getframe(1)) != NOWHERE:
                self.refuse("The script uses autocast already.")

        return __init__


def _in_full(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
