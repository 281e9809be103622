"""What dilated convolutions take some of whose taps see nothing but padding, and what is left without these.

    python -m benchmarks dead-taps

ms of the shortest of several timings each, forward and backward, by threads and sizes, on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.two_ways import Case, compare

# batch, channels, length, taps, dilation
SIZES = [
    (8, 64, 120, 3, 128),
    (8, 128, 120, 3, 128),
    (32, 64, 50, 3, 64),
    (16, 32, 200, 5, 200),
    (8, 64, 120, 5, 64),
]


def convolved(x: Tensor, kernel: Tensor, dilation: int) -> None:
    padding = (kernel.shape[2] - 1) * dilation // 2
    functional.conv1d(x, kernel, padding=padding, dilation=dilation).sum().backward()


def cases() -> Iterator[Case]:
    for batch, channels, length, taps, dilation in SIZES:
        x = torch.randn(batch, channels, length, requires_grad=True)
        seeing = 2 * ((length - 1) // dilation) + 1
        kernels = [torch.randn(channels, channels, count, requires_grad=True) for count in (taps, seeing)]
        told = f"{batch} × {channels} × {length}, dilation {dilation}", f"{seeing} of {taps}"
        yield Case(told, *(partial(convolved, x, kernel, dilation) for kernel in kernels))


def main(arguments: Sequence[str]) -> int:
    columns = ["size", "taps that see", "all ms", "these ms"]
    return compare("dead-taps", __doc__, arguments, columns, cases)
