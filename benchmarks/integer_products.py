"""What a product of integer matrices takes beside one of floats, the conversion included.

    python -m benchmarks integer-products

ms of the shortest of several timings each, by threads and sizes (m × k times k × n), on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.two_ways import Case, compare

SIZES = [(32, 64, 256), (128, 128, 128), (64, 256, 4_000), (256, 256, 256), (500, 20, 500)]
KINDS = (torch.int64, torch.int32)


def of_floats(left: Tensor, right: Tensor) -> Tensor:
    return left.float() @ right.float()


def cases() -> Iterator[Case]:
    for kind in KINDS:
        for m, k, n in SIZES:
            left, right = torch.randint(0, 2, (m, k)).to(kind), torch.randint(0, 2, (k, n)).to(kind)
            told = str(kind), f"{m:,} × {k:,} × {n:,}"
            yield Case(told, partial(torch.matmul, left, right), partial(of_floats, left, right))


def main(arguments: Sequence[str]) -> int:
    columns = ["kind", "size", "integers ms", "floats ms"]
    return compare("integer-products", __doc__, arguments, columns, cases)
