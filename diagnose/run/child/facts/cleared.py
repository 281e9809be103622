"""Gradients that are cleared before an optimizer uses them: by the line that calls the model they belong to.

A loss of one model that hangs on another one gives that one's parameters gradients too. If the next thing to
happen to those is `zero_grad`, the backward through that model was for nothing; where something is trained
through it (an actor through its critic), only the gradients of its parameters were. What lies behind it in
the same pass tells: if all that is for nothing too, nothing is trained through it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from ..guard import guarded
from ..memory.storages import storage_of
from ..places import Place

_PROBES = 3  # parameters of a model whose gradients are looked at


class Given(NamedTuple):
    """Whether something that a model is given needs gradients, and whether a leaf does."""

    trained: bool
    leaf: bool


class _Call(NamedTuple):
    """``caller``: of the method of the model itself that calls it, else the same line. ``through``: something
    else is trained through it.
    """

    place: Place
    caller: Place
    through: bool


@dataclass
class _Run:
    """A backward through a call. ``is_wasted``: whether its gradients were cleared before they were used, or
    None until that is known.
    """

    place: Place
    caller: Place
    given: Given
    is_wasted: bool | None = None


class Cleared:
    """Told what happens while marks are installed."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start counting again."""
        self._waiting: dict[int, list[_Run]] = {}  # that a backward ran through since, by model
        self._models: dict[int, weakref.ref[nn.Module]] = {}
        self._before: dict[int, tuple[Any, ...]] = {}  # gradients as the first of these backwards found them
        self._passes: defaultdict[int, list[_Run]] = defaultdict(list)  # in the order of the backward

    def went_backward(self, model: nn.Module, place: Place, caller: Place, given: Given) -> None:
        """A backward runs through a call of the model."""
        self._models[id(model)] = weakref.ref(model)
        if id(model) not in self._before:
            self._before[id(model)] = _gradients(model)
        run = _Run(place, caller, given)
        self._waiting.setdefault(id(model), []).append(run)
        self._passes[torch._C._current_graph_task_id()].append(run)

    @guarded("watching whose gradients are used")
    def steps(self, optimizer: Any) -> None:
        """The optimizer is about to step."""
        for model in self._models_with(optimizer):
            self._before.pop(id(model), None)
            for run in self._waiting.pop(id(model), []):
                run.is_wasted = False

    @guarded("watching whose gradients are cleared")
    def clears(self, owner: Any) -> None:
        """`zero_grad` of an optimizer or a module is about to run."""
        for model in self._models_with(owner):
            runs, before = self._waiting.pop(id(model), []), self._before.pop(id(model), None)
            if before != _gradients(model):  # `torch.autograd.grad` gives them away, and leaves these alone
                for run in runs:
                    run.is_wasted = True

    def facts(self) -> list[dict[str, Any]]:
        wasted, useful = Counter[_Call](), Counter[tuple[Place, Place]]()
        for runs in self._passes.values():
            for run, through in _through(runs):
                if run.is_wasted:
                    wasted[_Call(run.place, run.caller, through)] += 1
                elif run.is_wasted is False:
                    useful[run.place, run.caller] += 1
        return [
            {
                **call.place._asdict(),
                "caller": call.caller._asdict(),
                "through": call.through,
                "wasted_count": count,
                "useful_count": useful[call.place, call.caller],
            }
            for call, count in wasted.items()
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


def _through(runs: list[_Run]) -> Iterator[tuple[_Run, bool]]:
    """Of a pass, from its end: whether something else is trained through each call."""
    is_last, for_nothing = True, True  # all that lies behind
    for run in reversed(runs):
        through = run.given.trained and (run.given.leaf or is_last or not for_nothing)
        for_nothing = for_nothing and run.is_wasted is True and not through
        is_last = False
        yield run, through


def _gradients(model: nn.Module) -> tuple[Any, ...]:
    """Where they lie and how often they were written to, of some. Python's objects for them come and go."""
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None][:_PROBES]
    return tuple((_begin_of(storage_of(gradient)), gradient._version) for gradient in gradients)


def _begin_of(storage: Any) -> int | None:
    """None for one whose memory was given away, as sharded training (FSDP) does."""
    with contextlib.suppress(RuntimeError):
        return None if storage is None else int(storage.data_ptr())
    return None
