"""Whether the graphs that forwards build for autograd are ever used, and whether their gradients are: by the
line that calls the model.

A hook on the first node of each graph tells when a backward runs through it; the hook dies with the graph.
"""

from __future__ import annotations

import weakref
from collections import Counter
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import nn

from ..guard import guarded
from ..inspection import compiler_in_use
from ..places import Place, Places, outside_methods
from ..tensors import tensors_near
from .cleared import Cleared, Given

_WATCHED_AT_MOST = 512  # forwards; a script may call its layers one by one
_OUTPUTS_AT_MOST = 8


class GraphUse:
    """`watched` around each outermost call of a model while marks are installed."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.cleared = Cleared()
        self.forget()

    def forget(self) -> None:
        self._left = _WATCHED_AT_MOST
        self._built: Counter[Place] = Counter()
        self._graphs: list[weakref.ref[_Graph]] = []  # that lived when last seen
        self._used: Counter[Place] = Counter()
        self.cleared.forget()

    def watched(self, module: nn.Module, frame: FrameType) -> _Watch | None:
        """A context for the call; None where nothing is built, or may be hooked."""
        if self._left <= 0 or not torch.is_grad_enabled() or compiler_in_use():
            return None
        self._left -= 1
        caller = outside_methods(frame, module, self._places)
        return _Watch(self, module, self._places.nearest(frame), caller)

    def thrown_away(self) -> bool:
        """Whether several graphs were built, none was used, and none but the last two are kept: the one
        just made, and one in a variable of the script's.
        """
        return self._built.total() >= 5 and not self._used.total() and self._kept().total() <= 2

    def facts(self) -> list[dict[str, Any]]:
        """By the line that calls the model. `kept_count`: of graphs that may still be used."""
        kept = self._kept()
        return [
            {
                **place._asdict(),
                "built_count": built,
                "used_count": self._used[place],
                "kept_count": kept[place],
            }
            for place, built in self._built.items()
        ]

    @guarded("watching what is built for autograd")
    def built(self, model: nn.Module, place: Place, caller: Place, given: Any, output: Any) -> None:
        # what is given may be trained through the model: then its backward is needed, whoever clears what
        trained = [tensor for tensor in tensors_near(given) if tensor.requires_grad]
        of_trained = Given(bool(trained), any(tensor.is_leaf for tensor in trained))
        graph = _Graph(self, place, caller, weakref.ref(model), of_trained)
        nodes = [
            tensor.grad_fn
            for tensor, _ in zip(tensors_near((output,)), range(_OUTPUTS_AT_MOST), strict=False)
            if tensor.grad_fn is not None
        ]
        for node in nodes:
            node.register_prehook(graph.use)
        if nodes:
            self._built[place] += 1
            self._graphs.append(weakref.ref(graph))

    @guarded("watching what a backward runs through")
    def used(self, place: Place, caller: Place, model: nn.Module | None, given: Given) -> None:
        self._used[place] += 1
        if model is not None:
            self.cleared.went_backward(model, place, caller, given)

    def _kept(self) -> Counter[Place]:
        self._graphs = [
            known for known in self._graphs if (graph := known()) is not None and not graph.is_used
        ]
        return Counter(graph.place for known in self._graphs if (graph := known()) is not None)


class _Graph:
    """Lives as long as the hooks on the nodes of its forward's outputs do."""

    def __init__(
        self, uses: GraphUse, place: Place, caller: Place, model: weakref.ref[nn.Module], given: Given
    ) -> None:
        self.place, self._caller, self._uses = place, caller, uses
        self._model, self._given = model, given
        self.is_used = False

    @guarded("watching what a backward runs through")
    def use(self, gradients: Any) -> None:
        """A backward runs through the graph."""
        if not self.is_used:
            self.is_used = True
            self._uses.used(self.place, self._caller, self._model(), self._given)


class _Watch:
    """The module has a hook for this one call."""

    def __init__(self, uses: GraphUse, module: nn.Module, place: Place, caller: Place) -> None:
        self._uses, self._module, self._place, self._caller = uses, module, place, caller

    @guarded("watching what a model is given")
    def __enter__(self) -> None:
        self._hook = self._module.register_forward_hook(self._called, with_kwargs=True)

    @guarded("watching what a model is given")
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hook.remove()

    @guarded("watching what a model is given")
    def _called(self, module: nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        self._uses.built(module, self._place, self._caller, (*args, *kwargs.values()), output)
