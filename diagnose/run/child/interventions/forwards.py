"""The one way to act around a model: its call from outside, whatever modules it is made of."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch
from torch import nn

from ..facts.models import defined_at
from ..inspection import in_backward
from ..places import Place
from ..tensors import leaves
from .base import Intervention, Sites


class ScriptCall:
    """The script's own call of a model; ``result``: what it gave, if it is ``done``."""

    __slots__ = ("_call", "_raised", "done", "result")

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call, self._raised = call, 0
        self.done, self.result = False, None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.by(self._call, *args, **kwargs)

    def by(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The same by something that runs the script's own code."""
        try:
            self.result = call(*args, **kwargs)
        except Exception as error:
            self._raised = id(error)  # the exception itself would hold on to what its frames hold
            raise
        self.done = True
        return self.result

    def raised(self, error: Exception) -> bool:
        return self._raised == id(error)


class ForwardIntervention(Intervention):
    """Acts around the outermost forward of modules that own parameters.

    A site is the line of the call, or the line where the model's class is defined. Compiled and traced code
    is left alone, and so is what backward calls again (checkpoints), and what loader workers run.
    """

    idle = "No call of a model with parameters was seen there."

    def __init__(self, sites: Sites) -> None:
        super().__init__(sites)
        self._definitions: dict[type, Place] = {}
        self._removed = False

    def remove(self) -> None:
        self._removed = True  # the step clock may lie on top of our patch, which then stays
        super().remove()

    def install(self) -> None:
        self.patches.replace(nn.Module, "__call__", self._around(nn.Module.__call__))

    def forward(
        self, module: nn.Module, run: ScriptCall, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The changed call; `run(*args, **kwargs)` is the script's own, and what it raises is the script's.
        Where anything else fails, the fix is given up, and the script gets what its own call gives.
        """
        raise NotImplementedError

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        nesting = threading.local()
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(original)
        def __call__(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or getattr(nesting, "inside", False):
                return original(*args, **kwargs)
            nesting.inside = True
            try:
                if self.refused or self._removed or not self._concerns(args[0], sys._getframe(1)):
                    return original(*args, **kwargs)
                run = ScriptCall(functools.partial(original, args[0]))
                try:
                    return self.forward(args[0], run, args[1:], kwargs)
                except Exception as error:
                    if run.raised(error):
                        raise
                    self.refuse(f"It fails here: {type(error).__name__}: {error}")
                return run.result if run.done else original(*args, **kwargs)
            finally:
                nesting.inside = False

        return __call__

    def _concerns(self, module: nn.Module, frame: FrameType) -> bool:
        return (
            next(module.parameters(), None) is not None
            and not in_backward()
            and not torch.jit.is_tracing()
            and torch.utils.data.get_worker_info() is None
            and (self.sites.include(frame) or self.sites.has(self._definition(module)))
        )

    def _definition(self, module: nn.Module) -> Place:
        place = self._definitions.get(type(module))
        if place is None:
            place = self._definitions[type(module)] = defined_at(module, None, self.sites.places)  # type: ignore[arg-type]
        return place


def tensors_in(value: Any) -> list[torch.Tensor]:
    """In their order, whatever holds them."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, torch.Tensor)]


def alike(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor], tolerance: float) -> bool:
    """Whether they are as many, at least one, of the same shapes, off by that share of the largest number at
    most.
    """
    return 0 < len(before) == len(after) and all(
        one.shape == other.shape
        and (
            not one.numel()
            or torch.allclose(
                one.double(), other.double(), rtol=0, atol=tolerance * one.double().abs().max().item()
            )
        )
        for one, other in zip(before, after, strict=True)
    )
