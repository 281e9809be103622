"""What a product takes that is made in another way: both are tried on what the script's product is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import thread_time_ns

import torch
from torch import Tensor

LONG_NS = 200_000_000  # of the script's product: a trial takes some ten times as long
_TIMES, _TIMES_AT_MOST, _ENOUGH_NS = 3, 20, 2_000_000  # short ones are tried more often: they scatter


def shortest_ns(product: Callable[..., Tensor], given: Sequence[Tensor], *, is_trained: bool) -> int:
    """Of a few products, and of their backward for what needs gradients (``is_trained``); processor time,
    which other programs disturb least.
    """
    given = [tensor.detach().requires_grad_(is_trained and tensor.requires_grad) for tensor in given]
    trained = [tensor for tensor in given if tensor.requires_grad]

    def once() -> None:
        result = product(*given)
        if trained:  # by the engine itself: `backward` is watched
            torch.autograd.graph._engine_run_backward(
                (result,), (torch.ones_like(result),), False, False, tuple(trained), accumulate_grad=False
            )

    taken_ns: list[int] = []
    with torch.set_grad_enabled(is_trained):
        while len(taken_ns) < _TIMES or (sum(taken_ns) < _ENOUGH_NS and len(taken_ns) < _TIMES_AT_MOST):
            taken_ns.append(_timed_ns(once))
    return min(taken_ns)


def _timed_ns(call: Callable[[], None]) -> int:
    began_ns = thread_time_ns()
    call()
    return thread_time_ns() - began_ns
