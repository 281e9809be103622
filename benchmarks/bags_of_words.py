"""What bags of words take in a linear layer by sparse ways, beside the dense product, with their backward.

    python -m benchmarks bags-of-words

ms of the shortest of several timings each, by threads, on the CPU: 200 documents of 6,000 words, so large a
part of them zero, and a layer of 800 units. `csr`: the bags by rows, times the transposed weight; `csr,
table`: times a table kept the other way round; `embedding_bag`: a lookup in that table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.two_ways import Case, compare

DOCUMENTS, WORDS, UNITS = 200, 6_000, 800
ZEROS = (0.9, 0.98, 0.995)


def dense(bags: Tensor, weight: Tensor) -> None:
    functional.linear(bags, weight).sum().backward()


def by_rows(bags: Tensor, weight: Tensor) -> None:
    torch.sparse.mm(bags, weight.t()).sum().backward()


def by_rows_and_table(bags: Tensor, table: Tensor) -> None:
    torch.sparse.mm(bags, table).sum().backward()


def by_lookup(bags: Tensor, table: Tensor) -> None:
    words, starts, counts = bags.col_indices(), bags.crow_indices()[:-1], bags.values()
    looked_up = functional.embedding_bag(words, table, starts, mode="sum", per_sample_weights=counts)
    looked_up.sum().backward()


def cases() -> Iterator[Case]:
    for zeros in ZEROS:
        bags = (torch.rand(DOCUMENTS, WORDS) >= zeros) * torch.rand(DOCUMENTS, WORDS)
        weight = torch.randn(UNITS, WORDS, requires_grad=True)
        table = weight.detach().t().contiguous().requires_grad_()
        rows = bags.to_sparse_csr()
        ways = (
            ("csr", by_rows, weight),
            ("csr, table", by_rows_and_table, table),
            ("embedding_bag", by_lookup, table),
        )
        for name, way, given in ways:
            yield Case((zeros, name), partial(dense, bags, weight), partial(way, rows, given))


def main(arguments: Sequence[str]) -> int:
    return compare("bags-of-words", __doc__, arguments, ["zeros", "", "dense ms", "sparse ms"], cases)
