"""What sorting whole rows takes of which few are taken, and what `topk` of as few, on the CPU.

    python -m benchmarks sorted-rows

By the shape of what is sorted along its last dimension, and how many of each row are taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch

from benchmarks.two_ways import Case, alone, compare
from diagnose.run.child.products.sorted_few import Few, Sorting, all_sorted, few_sorted

SIZES = [
    ((8, 1024, 256), 3),
    ((4, 512, 1024), 32),
    ((64, 10_000), 10),
    ((64, 10_000), 2000),
    ((2000, 64), 8),
    ((100_000,), 100),
]


def cases() -> Iterator[Case]:
    for shape, count in SIZES:
        rows, sorting = torch.rand(shape), Sorting(len(shape) - 1, descending=False)
        whole = partial(all_sorted, sorting=sorting, which=0)
        few = partial(few_sorted, sorting=sorting, which=0, few=Few(count, from_end=False))
        told = " x ".join(map(str, shape)), count
        yield Case(told, partial(alone, whole, rows), partial(alone, few, rows))


def main(arguments: Sequence[str]) -> int:
    return compare("sorted-rows", __doc__, arguments, ("rows", "taken", "sort", "topk"), cases, timings=5)
