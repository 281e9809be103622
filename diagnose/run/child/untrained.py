"""Modules whose parameters get gradients that no optimizer uses: their calls are marked.

They are looked for when a recording ends, after an optimizer's step: then the gradients are there. The
recordings after it have the marks.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from .guard import guarded
from .marks import mark
from .places import Places
from .tensors import tensors_near


class Untrained:
    """Installed and removed with the marks. ``models`` and ``optimizers``: those known by now."""

    def __init__(
        self,
        places: Places,
        models: Callable[[], Iterable[nn.Module]],
        optimizers: Callable[[], Iterable[Optimizer]],
    ) -> None:
        self._places, self._models, self._optimizers = places, models, optimizers
        self._found: list[weakref.ref[nn.Module]] = []
        self._handles: list[Any] = []
        self._opened: list[Any] = []  # of calls that go on, innermost last; None where nothing is wasted

    @guarded("marking modules that nobody trains")
    def install(self) -> None:
        for known in self._found:
            module = known()
            if module is not None:
                self._handles.append(module.register_forward_pre_hook(self._begins, with_kwargs=True))
                self._handles.append(module.register_forward_hook(self._ends, always_call=True))

    @guarded("looking for modules that nobody trains")
    def remove(self) -> None:
        while self._handles:
            self._handles.pop().remove()
        while self._opened:
            self._close()
        models = list(self._models())
        trained = {
            id(parameter)
            for optimizer in self._optimizers()
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        # an optimizer may hold copies of all parameters, or have them in one piece
        if any(id(parameter) in trained for model in models for parameter in model.parameters()):
            self._found = [weakref.ref(module) for model in models for module in untrained(model, trained)]

    @guarded("marking a module that nobody trains")
    def _begins(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
        """What comes before may be trained through it: then its backward is needed, and no mark is made."""
        given = tensors_near((*args, *kwargs.values()))
        if not torch.is_grad_enabled() or any(tensor.requires_grad for tensor in given):
            self._opened.append(None)
            return
        file, line, function = self._places.nearest(sys._getframe(1))
        opened = mark(f"diagnose::untrained|{file}|{line}|{function}")
        opened.__enter__()
        self._opened.append(opened)

    @guarded("marking a module that nobody trains")
    def _ends(self, module: nn.Module, args: Any, output: Any) -> None:
        if self._opened:
            self._close()

    def _close(self) -> None:
        opened = self._opened.pop()
        if opened is not None:
            opened.__exit__(None, None, None)


def untrained(module: nn.Module, trained: set[int]) -> Iterator[nn.Module]:
    """The outermost modules with gradients none of whose parameters is among the trained ones (by id)."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if any(id(parameter) in trained for parameter in parameters):
        for child in module.children():
            yield from untrained(child, trained)
    elif any(parameter.grad is not None for parameter in parameters):
        yield module
