"""What dot products take as products of matrices, beside a sum of products, with their backward.

    python -m benchmarks dot-products

ms of the shortest of several timings each, by threads and sizes (so many pairs of vectors of so many
numbers), on the CPU: `torch.bmm(a[:, None], b[:, :, None])` and `(a * b).sum(-1)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.two_ways import Case, alone, compare, trained

SIZES = [(256, 64), (4_096, 16), (4_096, 64), (4_096, 256), (32_768, 16), (32_768, 64)]


def as_matrices(left: Tensor, right: Tensor) -> Tensor:
    return torch.bmm(left[:, None], right[:, :, None])


def as_sum(left: Tensor, right: Tensor) -> Tensor:
    return (left * right).sum(-1)


def cases() -> Iterator[Case]:
    for way in (alone, trained):
        for count, length in SIZES:
            given = [torch.randn(count, length, requires_grad=True) for _ in range(2)]
            told = way.__name__, f"{count:,} × {length}"
            yield Case(told, partial(way, as_matrices, *given), partial(way, as_sum, *given))


def main(arguments: Sequence[str]) -> int:
    columns = ["", "size", "bmm ms", "sum ms"]
    return compare("dot-products", __doc__, arguments, columns, cases)
