"""What models of pictures or volumes take on the processor with these in the channels_last layout.

The calls of one step are seen; then, between two steps, copies of the model are given what it was given, one
as it is and one laid out so, in turns: the script's own model is not touched, and an error in a copy is ours.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from . import accelerator
from .copies import copied, detached, in_turns
from .guard import guarded
from .inspection import compiler_in_use
from .models import CallCounts
from .patching import Patches
from .places import Place, Places
from .tensors import map_tensors, tensors_near

_MODELS_AT_MOST = 3
_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}  # by dimensions
_BYTES_AT_MOST = 1 << 28  # of a model's weights: two copies are made


@dataclass
class _Seen:
    """A model's calls in the step; the first one's line and arguments."""

    model: nn.Module
    place: Place
    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    with_graph: bool
    count: int = 1


class _Reshaping(TorchFunctionMode):
    """`view` as `reshape`: of pictures laid out otherwise it would be refused."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return (Tensor.reshape if func is Tensor.view and _is_shape(args) else func)(*args, **(kwargs or {}))


def _is_shape(args: tuple[Any, ...]) -> bool:
    return not any(isinstance(argument, torch.dtype) for argument in args)


class LayoutLook:
    """`begin` at a border between two steps, `step` at the next one."""

    what = "trying the layout of pictures"

    def __init__(
        self,
        calls: CallCounts,
        places: Places,
        place_for: Callable[[str], tuple[Any, str]],
        uncounted: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        """``uncounted``: a context in which the clock counts no forwards."""
        self._calls, self._places = calls, places
        self._place_for, self._uncounted = place_for, uncounted
        self._patches = Patches()
        self._seen: dict[int, _Seen] = {}
        self.facts: list[dict[str, Any]] | None = None

    def begin(self) -> bool:
        """Whether a model convolves pictures on the processor."""
        if accelerator.devices() or compiler_in_use() or torch.is_autocast_enabled("cpu"):
            return False
        models = {id(model): model for model, _ in self._calls.models() if _convolves(model)}
        if not models:
            return False
        self._models, self._seen, self._pid = models, {}, os.getpid()
        owner, name = self._place_for("forward")
        self._patches.replace(owner, name, self._seeing(getattr(owner, name)))
        return True

    def step(self) -> bool:
        """The step has ended: try what was seen in it."""
        self._patches.restore()
        seen, self._seen = list(self._seen.values())[:_MODELS_AT_MOST], {}
        self.facts = []
        counts_backward = self._place_for("backward")[1] == "backward"  # the clock, and the copies' too
        for model in seen:
            if model.with_graph and counts_backward:
                continue
            # a model may be such that it is not to be copied
            with contextlib.suppress(Exception), self._uncounted():
                self.facts.append(_tried(model))
        return True

    def end(self) -> None:
        """Harmless when repeated."""
        self._patches.restore()
        self._seen = {}

    def _seeing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        nesting = threading.local()

        def forward(*args: Any, **kwargs: Any) -> Any:
            if getattr(nesting, "inside", False):
                return original(*args, **kwargs)
            self._see(args, kwargs, sys._getframe(1))
            nesting.inside = True
            try:
                return original(*args, **kwargs)
            finally:
                nesting.inside = False

        return forward

    @guarded("trying the layout of pictures")
    def _see(self, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> None:
        model = self._models.get(id(args[0]))
        if model is None or os.getpid() != self._pid:
            return
        if id(model) in self._seen:
            self._seen[id(model)].count += 1
        elif any(_is_picture(tensor) for tensor in tensors_near((*args[1:], *kwargs.values()))):
            place, with_graph = self._places.nearest(frame), torch.is_grad_enabled()
            self._seen[id(model)] = _Seen(model, place, (args[1:], kwargs), with_graph)


def _convolves(model: nn.Module) -> bool:
    """With convolutions of pictures or volumes, of which none is laid out so already."""
    weights = [module.weight for module in model.modules() if isinstance(module, (nn.Conv2d, nn.Conv3d))]
    large = [weight for weight in weights if weight.shape[1] > 1 and weight[0, 0].numel() > 1]
    fits = sum(weight.nbytes for weight in model.parameters()) <= _BYTES_AT_MOST
    return bool(large) and fits and all(weight.is_contiguous() for weight in weights)


def _is_picture(tensor: Tensor) -> bool:
    return tensor.dim() in _FORMATS and tensor.is_floating_point()


def _tried(seen: _Seen) -> dict[str, Any]:
    """Calls of copies with their backward, as they are and laid out so. Raises whatever the model does."""
    as_is, changed = copied(seen.model), copied(seen.model)
    for module in changed.modules():
        if isinstance(module, (nn.Conv2d, nn.Conv3d)):
            module.weight.data = _laid_out(module.weight.data)

    def call_as_is() -> Any:
        args, kwargs = detached(seen.arguments)
        return as_is(*args, **kwargs)

    def call_laid_out() -> Any:
        args, kwargs = map_tensors(_laid_out, detached(seen.arguments))
        return changed(*args, **kwargs)

    with _Reshaping():
        told = in_turns((as_is, call_as_is), (changed, call_laid_out), with_graph=seen.with_graph)
    of_class = type(seen.model).__name__
    return {**seen.place._asdict(), "class": of_class, "call_count": seen.count, **told}


def _laid_out(tensor: Tensor) -> Tensor:
    return tensor.contiguous(memory_format=_FORMATS[tensor.dim()]) if _is_picture(tensor) else tensor
