"""What dot products take as products of matrices, beside a sum of products, with their backward.

    python -m benchmarks dot-products

ms of the shortest of several timings each, by threads and sizes (so many pairs of vectors of so many
numbers), on the CPU: `torch.bmm(a[:, None], b[:, :, None])` and `(a * b).sum(-1)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

SIZES = [(256, 64), (4_096, 16), (4_096, 64), (4_096, 256), (32_768, 16), (32_768, 64)]
THREADS, TIMINGS = (1, 2), 12


def as_matrices(left: Tensor, right: Tensor) -> Tensor:
    return torch.bmm(left[:, None], right[:, :, None])


def as_sum(left: Tensor, right: Tensor) -> Tensor:
    return (left * right).sum(-1)


def both_ways(product: Callable[[Tensor, Tensor], Tensor], left: Tensor, right: Tensor) -> None:
    product(left, right).sum().backward()


def main(arguments: Sequence[str]) -> int:
    parser("dot-products", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    found = []
    for threads in THREADS:
        torch.set_num_threads(threads)
        for count, length in SIZES:
            left, right = (torch.randn(count, length, requires_grad=True) for _ in range(2))
            row: list[str] = []
            for named in (product_ms, training_ms):
                matrices_ms, sum_ms = (named(product, left, right) for product in (as_matrices, as_sum))
                row += [f"{matrices_ms:.3f}", f"{sum_ms:.3f}", f"{sum_ms / matrices_ms:.2f}"]
            found.append((threads, f"{count:,} × {length}", *row))
    columns = ["bmm ms", "sum ms", "left"]
    print(table(["threads", "size", *columns, *(f"{name}, trained" for name in columns)], found))
    return 0


def product_ms(product: Callable[[Tensor, Tensor], Tensor], left: Tensor, right: Tensor) -> float:
    with torch.no_grad():
        return shortest_ms(partial(product, left, right), TIMINGS)


def training_ms(product: Callable[[Tensor, Tensor], Tensor], left: Tensor, right: Tensor) -> float:
    return shortest_ms(partial(both_ways, product, left, right), TIMINGS)
