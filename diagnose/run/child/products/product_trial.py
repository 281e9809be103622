"""What a product takes that is made in other ways: they are tried on what the script's product is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import thread_time_ns

import torch
from torch import Tensor

from ..one_core import alone_on_a_core

LONG_NS = 200_000_000  # of the script's product: a trial takes some ten times as long
# Short ones are tried more often. While other programs hold the cores, a thread that waits for those beside
# it spins: three turns of 2 ms can all lie in such a moment.
_TIMES, _TIMES_AT_MOST, _ENOUGH_NS = 3, 20, 30_000_000

Way = tuple[Callable[..., Tensor], Sequence[Tensor]]  # and what it is given


def shortest_ns(*ways: Way, is_trained: bool) -> list[int]:
    """Of each way the shortest of a few products, with their backward for what needs gradients
    (``is_trained``); taken in turns, in processor time, which other programs disturb least.
    """
    taken_ns: list[list[int]] = [[] for _ in ways]
    with torch.set_grad_enabled(is_trained), alone_on_a_core():
        calls = [_with_backward(product, given, is_trained=is_trained) for product, given in ways]
        while not _is_enough(taken_ns):
            for call, its_ns in zip(calls, taken_ns, strict=True):
                its_ns.append(_timed_ns(call))
    return [min(its_ns) for its_ns in taken_ns]


def share_left(as_is: Way, *others: Way, is_trained: bool) -> float:
    """Of the time of the product as it is, what the shortest of other ways takes."""
    as_is_ns, *others_ns = shortest_ns(as_is, *others, is_trained=is_trained)
    return min(others_ns) / max(as_is_ns, 1)


def _is_enough(taken_ns: Sequence[Sequence[int]]) -> bool:
    times = len(taken_ns[0])
    return times >= _TIMES and (times >= _TIMES_AT_MOST or sum(map(sum, taken_ns)) >= _ENOUGH_NS)


def _with_backward(
    product: Callable[..., Tensor], given: Sequence[Tensor], *, is_trained: bool
) -> Callable[[], None]:
    given = [tensor.detach().requires_grad_(is_trained and tensor.requires_grad) for tensor in given]
    trained = [tensor for tensor in given if tensor.requires_grad]

    def once() -> None:
        result = product(*given)
        if trained:
            gradients(result, trained)

    return once


def gradients(result: Tensor, given: Sequence[Tensor]) -> Sequence[Tensor]:
    """Of the result's sum, for each of what was given; by the engine itself, for `backward` is watched."""
    found: Sequence[Tensor] = torch.autograd.graph._engine_run_backward(
        (result,), (torch.ones_like(result),), False, False, tuple(given), accumulate_grad=False
    )
    return found


def _timed_ns(call: Callable[[], None]) -> int:
    began_ns = thread_time_ns()
    call()
    return thread_time_ns() - began_ns
