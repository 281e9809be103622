"""What picking rows takes: `x[index]` beside `x.index_select(0, index)`, forward and backward.

    python -m benchmarks row-indexing

ns a number that is picked, the shortest of five timings each, by threads and by the sizes of both tensors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from benchmarks.options import parser
from benchmarks.tables import table

SIZES = [(300, 1_200, 32), (1_000, 5_000, 64), (2_000, 20_000, 64), (1_600, 12_800, 64), (5_000, 5_000, 128)]
THREADS = (1, 2)
WAYS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "x[index]": lambda x, index: x[index],
    "index_select": lambda x, index: x.index_select(0, index),
}
TIMINGS, ROUNDS = 5, 4


def forward_and_backward_ns(
    pick: Callable[[Tensor, Tensor], Tensor], rows: int, picked: int, width: int
) -> tuple[float, float]:
    """Of each number that is picked."""
    x, index = torch.randn(rows, width, requires_grad=True), torch.randint(0, rows, (picked,))
    gradient, took = torch.randn(picked, width), []
    for _ in range(TIMINGS + 1):
        forward_s = backward_s = 0.0
        for _ in range(ROUNDS):
            x.grad, began = None, time.perf_counter()
            result = pick(x, index)
            between = time.perf_counter()
            result.backward(gradient)
            ended = time.perf_counter()
            forward_s, backward_s = forward_s + between - began, backward_s + ended - between
        took.append((forward_s, backward_s))
    number_ns = 1e9 / (ROUNDS * picked * width)
    forward_s, backward_s = (min(times[1:]) for times in zip(*took, strict=True))  # the first warms up
    return forward_s * number_ns, backward_s * number_ns


def main(arguments: Sequence[str]) -> int:
    parser("row-indexing", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    found = []
    for threads in THREADS:
        torch.set_num_threads(threads)
        for size in SIZES:
            ns = [time_ns for pick in WAYS.values() for time_ns in forward_and_backward_ns(pick, *size)]
            found.append((threads, *(f"{number:,}" for number in size), *(f"{one:.2f}" for one in ns)))
    columns = [f"{name} {part}" for name in WAYS for part in ("forward", "backward")]
    print(table(["threads", "rows", "picked", "width", *columns], found))
    return 0
