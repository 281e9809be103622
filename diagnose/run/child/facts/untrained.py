"""Modules whose parameters get gradients that no optimizer uses: their calls are marked.

`untrained`: nothing needs the call's backward. `untrained_through`: something before it is trained through
it, and of its backward only the gradients of its own weights are for nothing; inside of it, calls that are
given nothing with gradients are marked `untrained`.

No optimizer has the parameters, or only with a learning rate of 0. They are looked for when a recording ends,
after an optimizer's step: then the gradients are there. The recordings after it have the marks.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

from ..guard import guarded
from ..overridden import ours
from ..patching import Patches
from ..places import Places
from ..recording.ranges import mark
from ..tensors import tensors_near

_NODES_AT_MOST = 20_000  # of a graph that is walked through, once for each module and recording


class Untrained:
    """Installed and removed with the marks. ``models`` and ``optimizers``: those known by now. `place_for`:
    see `Marks`.

    Nothing is left on the modules: the script may save or copy them at any time.
    """

    def __init__(
        self,
        places: Places,
        models: Callable[[], Iterable[nn.Module]],
        optimizers: Callable[[], Iterable[Optimizer]],
        place_for: Callable[[str], tuple[Any, str]],
    ) -> None:
        self._place_for = place_for
        self._places, self._models, self._optimizers = places, models, optimizers
        self._found: list[weakref.ref[nn.Module]] = []
        self._wasted: set[int] = set()  # the parameters of these modules, by id
        self._needed: dict[int, bool] = {}  # by module: whether something is trained through it
        self._patches = Patches()
        self._opened: list[tuple[str, Any]] = []  # marks of calls that go on, with their kinds

    @guarded("marking modules that nobody trains")
    def install(self) -> None:
        moving = self._moving()
        modules = [module for known in self._found if (module := known()) is not None]
        modules = [module for module in modules if not any(id(one) in moving for one in module.parameters())]
        self._wasted = {id(parameter) for module in modules for parameter in module.parameters()}
        self._needed.clear()
        if modules:
            owner, name = self._place_for("forward")
            self._patches.replace(owner, name, self._marking(getattr(owner, name), modules))

    @guarded("looking for modules that nobody trains")
    def remove(self) -> None:
        self._patches.restore()
        while self._opened:
            self._ends(self._opened[-1])
        models, trained = list(self._models()), self._moving()
        # an optimizer may hold copies of all parameters, or have them in one piece
        if any(id(parameter) in trained for model in models for parameter in model.parameters()):
            self._found = [weakref.ref(module) for model in models for module in untrained(model, trained)]

    def _marking(self, original: Callable[..., Any], modules: Iterable[nn.Module]) -> Callable[..., Any]:
        of_these = {id(part): weakref.ref(part) for module in modules for part in module.modules()}

        @ours
        def forward(*args: Any, **kwargs: Any) -> Any:
            known = of_these.get(id(args[0]))
            if known is None or known() is not args[0]:
                return original(*args, **kwargs)
            opened = self._begins(args[0], args[1:], kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                self._ends(opened)

        return forward

    @guarded("marking a module that nobody trains")
    def _begins(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        """Its mark; None for one inside of another that tells of it."""
        kind_around = self._opened[-1][0] if self._opened else ""
        if not torch.is_grad_enabled() or kind_around == "untrained":
            return None
        given = [tensor for tensor in tensors_near((*args, *kwargs.values())) if tensor.requires_grad]
        if kind_around and given:
            return None
        if given and id(module) not in self._needed:
            self._needed[id(module)] = needs_gradients(given, self._wasted)
        kind = "untrained_through" if given and self._needed[id(module)] else "untrained"
        file, line, function = self._places.nearest(sys._getframe(1))
        opened = mark(f"diagnose::{kind}|{file}|{line}|{function}")
        opened.__enter__()
        self._opened.append((kind, opened))
        return self._opened[-1]

    @guarded("marking a module that nobody trains")
    def _ends(self, opened: Any) -> None:
        """Of a mark that is not closed yet."""
        if opened in self._opened:
            self._opened.remove(opened)
            opened[1].__exit__(None, None, None)

    def _moving(self) -> set[int]:
        """The parameters (by id) that an optimizer changes, now or later: a schedule may begin with a
        learning rate of 0, and keeps the one that it is about in `initial_lr`.
        """
        return {
            id(parameter)
            for optimizer in self._optimizers()
            for group in optimizer.param_groups
            for parameter in group["params"]
            if group.get("lr", 1) != 0 or group.get("initial_lr", 0) != 0
        }


def untrained(module: nn.Module, trained: set[int]) -> Iterator[nn.Module]:
    """The outermost modules with gradients none of whose parameters is among the trained ones (by id)."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if any(id(parameter) in trained for parameter in parameters):
        for child in module.children():
            yield from untrained(child, trained)
    elif any(parameter.grad is not None for parameter in parameters):
        yield module


def needs_gradients(tensors: Iterable[Tensor], wasted: set[int]) -> bool:
    """Whether these depend on a tensor with gradients that is none of the wasted parameters (by id).

    A function of Python's own may hold parameters that its node does not show: then yes.
    """
    nodes: list[Any] = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    if any(tensor.grad_fn is None and id(tensor) not in wasted for tensor in tensors):
        return True
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        leaf = getattr(node, "variable", None)
        hides = isinstance(node, torch.autograd.function.BackwardCFunction) or len(seen) > _NODES_AT_MOST
        if hides or (leaf is not None and id(leaf) not in wasted):
            return True
        following = {before for before, _ in node.next_functions if before is not None} - seen
        seen |= following
        nodes += following
    return False
