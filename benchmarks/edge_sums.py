"""What sums over the edges of a graph take edge by edge, beside products with a sparse matrix, with backward.

    python -m benchmarks edge-sums

ms of the shortest of several timings each, by threads and sizes (nodes, edges, numbers a node), on the CPU:
`zeros.index_add_(0, target, x[source] * weight)`, likewise with `x.index_select(0, source)`, and
`adjacency @ x` with a CSR matrix that is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.two_ways import Case, alone, compare, trained

Way = Callable[[Tensor], Tensor]

SIZES = [
    (2_700, 13_000, 16),
    (1_000, 10_000, 64),
    (8_000, 110_000, 64),
    (8_000, 30_000, 64),
    (3_000, 60_000, 128),
]


def edge_by_edge(source: Tensor, target: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    return torch.zeros_like(x).index_add_(0, target, x[source] * weight[:, None])


def selected(source: Tensor, target: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    return torch.zeros_like(x).index_add_(0, target, x.index_select(0, source) * weight[:, None])


def matrix_of(nodes: int, source: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    return (
        torch.sparse_coo_tensor(torch.stack([target, source]), weight, (nodes, nodes))
        .coalesce()
        .to_sparse_csr()
    )


def cases() -> Iterator[Case]:
    for run in (alone, trained):
        for nodes, edges, numbers in SIZES:
            source, target = (torch.randint(nodes, (edges,)) for _ in range(2))
            weight, x = torch.rand(edges), torch.randn(nodes, numbers, requires_grad=True)
            matrix = matrix_of(nodes, source, target, weight)
            for way in (edge_by_edge, selected):
                told = run.__name__, way.__name__, f"{nodes:,}, {edges:,}, {numbers}"
                by_edges = partial(way, source, target, weight)
                yield Case(told, partial(run, by_edges, x), partial(run, partial(torch.sparse.mm, matrix), x))


def main(arguments: Sequence[str]) -> int:
    return compare("edge-sums", __doc__, arguments, ["", "way", "size", "edges ms", "CSR ms"], cases)
