"""Copies to the GPU."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from .. import accelerator
from .base import Intervention


class NonBlocking(Intervention):
    """`Tensor.to` and `Tensor.cuda` from the host to the GPU get non_blocking=True."""

    idle = "No tensor was copied from the host to the GPU there."

    def install(self) -> None:
        if accelerator.gpu_count() == 0:
            self.refuse("There is no CUDA GPU to copy to.")
            return
        for name in ("to", "cuda"):
            self.patches.replace(
                torch.Tensor, name, self._without_waiting(getattr(torch.Tensor, name), always=name == "cuda")
            )

    def _without_waiting(self, original: Callable[..., Any], *, always: bool) -> Callable[..., Any]:
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(original)
        def move(tensor: Any, /, *args: Any, **kwargs: Any) -> Any:
            uploads = (
                not is_compiling() and tensor.device.type == "cpu" and (always or _goes_to_gpu(args, kwargs))
            )
            if not uploads or not self.sites.include(sys._getframe(1)):
                return original(tensor, *args, **kwargs)
            changed_args, changed_kwargs = _non_blocking(args, kwargs)
            self.count += (args, kwargs) != (changed_args, changed_kwargs)
            return original(tensor, *changed_args, **changed_kwargs)

        return move


def _goes_to_gpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    target = kwargs.get("device", kwargs.get("other", args[0] if args else None))
    if isinstance(target, torch.Tensor):
        return target.is_cuda
    if isinstance(target, torch.device):
        return target.type == "cuda"
    return isinstance(target, int) or (isinstance(target, str) and target.startswith("cuda"))


def _non_blocking(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Given by position, non_blocking is the first truth value in every form of the call."""
    position = next((index for index, value in enumerate(args) if isinstance(value, bool)), None)
    if position is None:
        return args, kwargs | {"non_blocking": True}
    return (*args[:position], True, *args[position + 1 :]), kwargs
