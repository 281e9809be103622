"""What copies of a module take a call with its backward, as it is and another way, in turns: the script's
own module is not touched, and an error in a copy is ours.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from time import perf_counter_ns, thread_time_ns
from typing import Any

import torch
from torch import Tensor, nn

from .identical import random_state_kept
from .schedule import SECOND
from .setting_trials import is_changed
from .tensors import map_tensors, tensors_in

_PAIRS_AT_LEAST, _PAIRS_AT_MOST = 5, 24
_ENOUGH_NS, _TOO_LONG_NS = SECOND // 2, 3 * SECOND  # of all pairs of a module
_COPIED = (Tensor, nn.Module, list, tuple, dict, set)  # of what a module holds

Call = tuple[nn.Module, Callable[[], Any]]  # a copy, and a call of it


def copied(module: nn.Module) -> Any:
    """Without the script's hooks on results and gradients, which are not to run for a copy; weight norms need
    those before a forward. What is no part of a model, as a data set or a logger that it holds, is shared.
    """
    held = (value for part in module.modules() for value in vars(part).values())
    made = copy.deepcopy(module, {id(value): value for value in held if not isinstance(value, _COPIED)})
    for part in made.modules():
        for hooks in (part._forward_hooks, part._backward_hooks, part._backward_pre_hooks):
            hooks.clear()
    return made


def detached(arguments: Any) -> Any:
    """The tensors without what they were computed from, which has been gone back through already."""
    return map_tensors(lambda tensor: tensor.detach().requires_grad_(tensor.requires_grad), arguments)


def in_turns(as_is: Call, changed: Call, *, with_graph: bool) -> dict[str, list[float]]:
    """`as_is_ms` and `changed_ms`, of each pair of calls. Raises whatever the module does."""
    ns: dict[bool, list[int]] = {False: [], True: []}
    with random_state_kept(), torch.set_grad_enabled(with_graph):
        began_ns = perf_counter_ns()
        for number in itertools.count():
            is_other = is_changed(number)
            ns[is_other].append(_call_ns(*(changed if is_other else as_is)))
            pairs, elapsed_ns = len(ns[True]), perf_counter_ns() - began_ns
            enough = pairs > _PAIRS_AT_LEAST and elapsed_ns > _ENOUGH_NS
            if len(ns[False]) == pairs and (enough or pairs > _PAIRS_AT_MOST or elapsed_ns > _TOO_LONG_NS):
                break
    # what is done for the first time is slow
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
