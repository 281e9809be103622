"""The optimizers: how they are set up, and how the gradients are reset."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from ..guard import guarded
from ..patching import Patches
from ..places import NOWHERE, Place, Places
from .cleared import Cleared


def optimizer_facts(optimizer: Optimizer, place: Place) -> dict[str, Any]:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    defaults = optimizer.defaults
    return {
        "class": type(optimizer).__name__,
        "foreach": defaults.get("foreach"),
        "fused": defaults.get("fused"),
        "device": str(parameters[0].device) if parameters else "cpu",
        "tensor_count": len(parameters),
        "parameter_count": sum(parameter.numel() for parameter in parameters),
        "state_bytes": _state_bytes(optimizer),
        **place._asdict(),
    }


def _state_bytes(optimizer: Optimizer) -> int | None:
    """Of the tensors beside the parameters; None for an optimizer that keeps them in a form of its own."""
    try:
        values = [value for state in optimizer.state.values() for value in state.values()]
    except AttributeError:
        return None
    return sum(value.numel() * value.element_size() for value in values if isinstance(value, torch.Tensor))


class ZeroGrads:
    """Counts, while a profiler of ours records, the calls of `zero_grad` of optimizers and modules."""

    def __init__(self, places: Places, cleared: Cleared) -> None:
        self._places, self._cleared = places, cleared
        self._counts = {True: 0, False: 0}  # by `set_to_none`
        self._place = NOWHERE
        self._patches = Patches()

    def install(self) -> None:
        for owner in (Optimizer, torch.nn.Module):
            self._patches.replace(owner, "zero_grad", self._counting(owner.zero_grad))

    def remove(self) -> None:
        self._patches.restore()

    def facts(self) -> dict[str, Any] | None:
        """The place is that of the last call that wrote zeros, else of the
        last call; None if there was no call.
        """
        if not any(self._counts.values()):
            return None
        return {
            "to_none_count": self._counts[True],
            "to_zero_count": self._counts[False],
            **self._place._asdict(),
        }

    def _counting(self, original: Callable[..., None]) -> Callable[..., None]:
        def zero_grad(owner: Any, /, *args: Any, **kwargs: Any) -> None:
            self._count(args, kwargs, sys._getframe(1))
            self._cleared.clears(owner)
            original(owner, *args, **kwargs)

        return zero_grad

    @guarded("watching `zero_grad`")
    def _count(self, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> None:
        to_none = bool(kwargs.get("set_to_none", args[0] if args else True))
        self._counts[to_none] += 1
        if not (to_none and self._counts[False]):
            self._place = self._places.nearest(frame)
