"""Gradients that are cleared before an optimizer uses them: by the line that calls the model they belong to.

A loss of one model that hangs on another one gives that one's parameters gradients too. If the next thing to
happen to those is `zero_grad`, the backward through that model was for nothing; where something is trained
through it (an actor through its critic), only the gradients of its parameters were.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import Counter
from typing import Any, NamedTuple

from torch import nn

from ..guard import guarded
from ..memory.storages import storage_of
from ..places import Place

_PROBES = 3  # parameters of a model whose gradients are looked at


class _Call(NamedTuple):
    """``caller``: of the method of the model itself that calls it, else the same line."""

    place: Place
    caller: Place
    through: bool


class Cleared:
    """Told what happens while marks are installed."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start counting again."""
        self._waiting: dict[int, list[_Call]] = {}  # that a backward ran through since, by model
        self._models: dict[int, weakref.ref[nn.Module]] = {}
        self._before: dict[int, tuple[Any, ...]] = {}  # gradients as the first of these backwards found them
        self._wasted: Counter[_Call] = Counter()
        self._useful: Counter[_Call] = Counter()

    def went_backward(self, model: nn.Module, place: Place, caller: Place, *, through: bool) -> None:
        """A backward ran through a call of the model. ``through``: that was given what is trained itself."""
        self._models[id(model)] = weakref.ref(model)
        if id(model) not in self._before:
            self._before[id(model)] = _gradients(model)
        self._waiting.setdefault(id(model), []).append(_Call(place, caller, through))

    @guarded("watching whose gradients are used")
    def steps(self, optimizer: Any) -> None:
        """The optimizer is about to step."""
        for model in self._models_with(optimizer):
            self._useful.update(self._waiting.pop(id(model), []))
            self._before.pop(id(model), None)

    @guarded("watching whose gradients are cleared")
    def clears(self, owner: Any) -> None:
        """`zero_grad` of an optimizer or a module is about to run."""
        for model in self._models_with(owner):
            calls, before = self._waiting.pop(id(model), []), self._before.pop(id(model), None)
            if before != _gradients(model):  # `torch.autograd.grad` gives them away, and leaves these alone
                self._wasted.update(calls)

    def facts(self) -> list[dict[str, Any]]:
        return [
            {
                **call.place._asdict(),
                "caller": call.caller._asdict(),
                "through": call.through,
                "wasted_count": count,
                "useful_count": self._useful[call],
            }
            for call, count in self._wasted.items()
        ]

    def _models_with(self, owner: Any) -> list[nn.Module]:
        """Those that have a trained parameter in common with an optimizer or a module."""
        groups = getattr(owner, "param_groups", None) or [{"params": owner.parameters()}]
        theirs = {id(parameter) for group in groups for parameter in group["params"]}
        models = [model for known in self._models.values() if (model := known()) is not None]
        return [
            model
            for model in models
            if any(id(parameter) in theirs for parameter in model.parameters() if parameter.requires_grad)
        ]


def _gradients(model: nn.Module) -> tuple[Any, ...]:
    """Where they lie and how often they were written to, of some. Python's objects for them come and go."""
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None][:_PROBES]
    return tuple((_begin_of(storage_of(gradient)), gradient._version) for gradient in gradients)


def _begin_of(storage: Any) -> int | None:
    """None for one whose memory was given away, as sharded training (FSDP) does."""
    with contextlib.suppress(RuntimeError):
        return None if storage is None else int(storage.data_ptr())
    return None
