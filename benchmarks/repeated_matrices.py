"""What products of batches of matrices take where torch copies the smaller batch, beside `einsum`.

    python -m benchmarks repeated-matrices

ms of the shortest of several timings each, by threads, without and with their backward, on the CPU: `a @ b`
with dimensions of one that broadcasting makes larger, and `torch.einsum` without these dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch

from benchmarks.two_ways import Case, alone, compare, trained

# what it is, shapes with the dimensions of one, equation
SIZES = [
    ("one vector for each head", (256, 1, 1, 64), (8, 64, 64), "bd,hde->bhe"),
    ("heads of a sequence", (64, 1, 50, 64), (8, 64, 64), "btd,hde->bhte"),
    ("larger heads", (16, 1, 196, 384), (6, 384, 64), "btd,hde->bhte"),
    ("capsules", (288, 10, 16, 8), (16, 288, 1, 8, 1), "iokd,bid->biok"),
    ("graphs", (8, 200, 200), (16, 1, 200, 32), "knm,bmd->bknd"),
    ("the same keys for all", (64, 4, 50, 32), (4, 32, 50), "bhtd,hds->bhts"),
    ("a rotation for each cloud", (32, 1, 3, 3), (32, 1024, 3, 1), "bxy,bny->bnx"),
]


def cases() -> Iterator[Case]:
    for way in (alone, trained):
        for what, left_shape, right_shape, equation in SIZES:
            left, right = (torch.randn(shape, requires_grad=True) for shape in (left_shape, right_shape))
            small_left, small_right = (tensor.detach().squeeze().requires_grad_() for tensor in (left, right))
            by_einsum = partial(way, partial(torch.einsum, equation), small_left, small_right)
            yield Case((way.__name__, what), partial(way, torch.matmul, left, right), by_einsum)


def main(arguments: Sequence[str]) -> int:
    columns = ["", "products", "matmul ms", "einsum ms"]
    return compare("repeated-matrices", __doc__, arguments, columns, cases)
