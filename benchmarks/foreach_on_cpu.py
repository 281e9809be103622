"""What optimizers with `foreach=True` take on the CPU, beside the loop over parameters.

    python -m benchmarks foreach-on-cpu

ms of the shortest of several updates each, by threads, optimizer, and number and size of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks.two_ways import Case, compare

SIZES = ((60, 1_000), (60, 20_000), (60, 300_000), (200, 1_000))  # tensors, numbers in each
OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "RMSprop": partial(torch.optim.RMSprop, momentum=0.9, weight_decay=1e-8),
    "Adam": torch.optim.Adam,
    "NAdam": torch.optim.NAdam,
    "Adamax": torch.optim.Adamax,
}


def update(
    optimizer: Callable[..., Any], tensors: int, numbers: int, *, foreach: bool
) -> Callable[[], object]:
    parameters = [torch.nn.Parameter(torch.randn(numbers)) for _ in range(tensors)]
    for parameter in parameters:
        parameter.grad = torch.randn(numbers)
    step: Callable[[], object] = optimizer(parameters, foreach=foreach).step
    return step


def cases() -> Iterator[Case]:
    for name, optimizer in OPTIMIZERS.items():
        for size in SIZES:
            ways = (update(optimizer, *size, foreach=foreach) for foreach in (True, False))
            yield Case((name, *size), *ways)


def main(arguments: Sequence[str]) -> int:
    columns = ("optimizer", "tensors", "numbers", "foreach ms", "loop ms")
    return compare("foreach-on-cpu", __doc__, arguments, columns, cases)
