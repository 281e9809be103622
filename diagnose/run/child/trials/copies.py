"""What modules of the script's would take another way.

The calls of one step are seen; then, between two steps, copies of the modules are given what these were
given, as it is and another way, in turns. The script's own module is not touched, nor what it was given, and
an error in a copy is ours. What is no part of a module is shared (hooks of the process, generators in
variables), so that nothing is tried where the script goes on.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from time import perf_counter_ns, thread_time_ns
from types import FrameType, MethodType
from typing import Any

import torch
from torch import Tensor, nn

from .. import accelerator
from ..facts.models import CallCounts
from ..guard import guarded
from ..identical import random_state_kept
from ..inspection import compiler_in_use, in_backward, without_saved_tensors_hooks
from ..loading.randomness import is_generator
from ..one_core import alone_on_a_core
from ..patching import Patches
from ..phases.schedule import SECOND
from ..places import Place, Places
from ..tensors import map_tensors, tensors_in
from .setting_trials import is_changed

_PAIRS_AT_LEAST, _PAIRS_AT_MOST = 5, 24
_ENOUGH_NS, _TOO_LONG_NS = 2 * SECOND, 8 * SECOND  # of all pairs of a module
_MODULES_AT_MOST = 3
_BYTES_AT_MOST = 1 << 28  # of the weights of a whole model that is copied
_COPIED = (Tensor, nn.Module, list, tuple, dict, set)  # of what a module holds

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Call = tuple[nn.Module, Callable[[], Any]]  # a copy, and a call of it


@dataclass
class Seen:
    """A module's calls in the step, those of an evaluation not beside those of training; the first one's line
    and arguments.
    """

    module: Any
    place: Place
    arguments: Arguments
    with_graph: bool
    trains: bool
    count: int = 1


class CopyLook:
    """`begin` at a border between two steps, `step` at the next one. On the processor alone."""

    what: str
    outermost = False  # whether calls inside of a call that counts do not count
    under_autocast = False  # whether it is about calls under autocast; else these do not count

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
        self._modules: dict[int, nn.Module] = {}  # by id
        self._seen: dict[int, Seen] = {}
        self.facts: list[dict[str, Any]] | None = None

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        """Whose calls are looked for."""
        raise NotImplementedError

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether there is another way for this call."""
        raise NotImplementedError

    def tried(self, seen: Seen) -> dict[str, Any]:
        """What copies take, see `in_turns`. Raises whatever the module does."""
        raise NotImplementedError

    def begin(self) -> bool:
        """Whether there is such a module."""
        if accelerator.devices() or compiler_in_use() or torch.is_autocast_enabled("cpu"):
            return False
        wanted = self.modules([model for model, _ in self._calls.models()])
        self._modules, self._seen = {id(module): module for module in wanted}, {}
        if not self._modules:
            return False
        self._pid = os.getpid()
        owner, name = self._place_for("forward")
        self._patches.replace(owner, name, self._seeing(getattr(owner, name)))
        return True

    def step(self) -> bool:
        """The step has ended: try what was seen in it."""
        self._patches.restore()
        all_seen, self._seen = list(self._seen.values())[:_MODULES_AT_MOST], {}
        self.facts = []
        counts_backward = self._place_for("backward")[1] == "backward"  # the clock, and the copies' too
        for seen in all_seen:
            if seen.with_graph and counts_backward:
                continue
            # a module may be such that it is not to be copied
            with contextlib.suppress(Exception), self._uncounted():
                told = self.tried(replace(seen, arguments=_cloned(seen.arguments)))
                self.facts.append({**seen.place._asdict(), "call_count": seen.count, **told})
        return True

    def end(self) -> None:
        """Harmless when repeated."""
        self._patches.restore()
        self._modules, self._seen = {}, {}

    def _seeing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        nesting = threading.local()

        def forward(*args: Any, **kwargs: Any) -> Any:
            is_inside = getattr(nesting, "inside", False)
            counts = not is_inside and self._see(args, kwargs, sys._getframe(1))
            if not (counts and self.outermost):
                return original(*args, **kwargs)
            nesting.inside = True
            try:
                return original(*args, **kwargs)
            finally:
                nesting.inside = False

        return forward

    @guarded("looking at what models are given")
    def _see(self, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> bool:
        """Whether the call counts, or would if no other stood for its module."""
        module = self._modules.get(id(args[0]))
        if module is None or os.getpid() != self._pid:
            return False
        if torch.is_autocast_enabled("cpu") is not self.under_autocast or in_backward():
            return False
        with_graph = torch.is_grad_enabled()
        seen, trains = self._seen.get(id(module)), with_graph and module.training
        if seen is not None and seen.trains == trains:
            seen.count += 1
        elif seen is None or trains:
            if not self.counts(module, args[1:], kwargs):
                return False
            place = self._places.nearest(frame)
            self._seen[id(module)] = Seen(module, place, (args[1:], kwargs), with_graph, trains)
        return True


def small_enough(models: Iterable[nn.Module]) -> list[nn.Module]:
    """Those whose weights a copy may hold once more."""
    return [model for model in models if sum(one.nbytes for one in model.parameters()) <= _BYTES_AT_MOST]


def copied(module: nn.Module) -> Any:
    """Without the script's hooks on results and gradients, which are not to run for a copy; weight norms need
    those before a forward. Methods of its parts that it holds are those of their copies. What is no part of a
    model, as a data set or a logger that it holds, is shared.
    """
    parts = {id(part) for part in module.modules()}
    held = (value for part in module.modules() for value in vars(part).values())
    made = copy.deepcopy(module, {id(value): value for value in held if not _is_copied(value, parts)})
    for part in made.modules():
        for hooks in (part._forward_hooks, part._backward_hooks, part._backward_pre_hooks):
            hooks.clear()
    return made


def _is_copied(value: Any, parts: set[int]) -> bool:
    """``parts``: of the module that holds it, by id."""
    while isinstance(value, functools.partial):
        value = value.func
    is_method = isinstance(value, MethodType) and id(value.__self__) in parts
    return is_method or isinstance(value, _COPIED) or is_generator(value)


def _cloned(arguments: Arguments) -> Arguments:
    """What a copy may write to and draw from: the script's stay as they are."""

    def of_its_own(value: Any) -> Any:
        return copy.deepcopy(value) if is_generator(value) else map_tensors(_clone, value)

    args, kwargs = arguments
    return tuple(map(of_its_own, args)), {name: of_its_own(value) for name, value in kwargs.items()}


def _clone(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def detached(arguments: Any) -> Any:
    """The tensors without what they were computed from, which has been gone back through already."""
    return map_tensors(lambda tensor: tensor.detach().requires_grad_(tensor.requires_grad), arguments)


def in_turns(
    as_is: Call, changed: Call, *, with_graph: bool, settled: bool = False
) -> dict[str, list[float]]:
    """`as_is_ms` and `changed_ms`, of each pair of calls; ``settled``: of those that follow one of the same
    kind, for after the other kind memory has to be asked for anew. Both are empty where calls are so long
    that the fewest pairs would take too long. Raises whatever the module does.
    """
    ns: dict[bool, list[int]] = {False: [], True: []}
    before, fewest = False, 2 * _PAIRS_AT_LEAST if settled else _PAIRS_AT_LEAST
    with (
        random_state_kept(),
        torch.set_grad_enabled(with_graph),
        alone_on_a_core(),
        without_saved_tensors_hooks(),
    ):
        began_ns = perf_counter_ns()
        for number in itertools.count():
            is_other = is_changed(number)
            took_ns = _call_ns(*(changed if is_other else as_is))
            if not settled or is_other is before:
                ns[is_other].append(took_ns)
            before = is_other
            pairs, elapsed_ns = len(ns[True]), perf_counter_ns() - began_ns
            if number == 1:
                first_ns = elapsed_ns  # what is done for the first time is slow
            elif number == 3 and fewest * (elapsed_ns - first_ns) > _TOO_LONG_NS:
                return {"as_is_ms": [], "changed_ms": []}
            enough = pairs > _PAIRS_AT_LEAST and elapsed_ns > _ENOUGH_NS
            if len(ns[False]) == pairs and (enough or pairs > _PAIRS_AT_MOST):
                break
    as_is_ms, changed_ms = ([one / 1e6 for one in ns[is_other][1:]] for is_other in (False, True))
    return {"as_is_ms": as_is_ms, "changed_ms": changed_ms}


def _call_ns(module: nn.Module, call: Callable[[], Any]) -> int:
    """Processor time of the calling thread, which other programs disturb least."""
    began_ns = thread_time_ns()
    results = [result for result in tensors_in(call()) if result.requires_grad]
    if results:
        torch.autograd.backward(results, [torch.ones_like(result) for result in results])
    took_ns = thread_time_ns() - began_ns
    for parameter in module.parameters():
        parameter.grad = None  # `zero_grad` is watched
    return took_ns
