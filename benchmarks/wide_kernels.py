"""What convolutions of single-channel pictures take with a kernel as wide as they are or wider, and what is
left if their columns are the channels of a one-dimensional convolution.

    python -m benchmarks wide-kernels

ms of the shortest of several timings each, forward and backward, by threads and sizes, on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.two_ways import Case, compare

# batch, length, width, channels out, kernel's length and width
SIZES = [
    (64, 32, 300, 256, 3, 300),
    (128, 32, 300, 256, 4, 300),
    (64, 50, 100, 100, 5, 100),
    (32, 200, 128, 64, 3, 128),
    (16, 64, 50, 32, 2, 50),
    (1, 458, 10, 1, 23, 23),
    (1, 1500, 10, 1, 23, 23),
    (1, 458, 10, 1, 11, 11),
]


def as_picture(x: Tensor, kernel: Tensor) -> None:
    width, wide = x.shape[3], kernel.shape[3]
    padding = (0, 0) if wide == width else (kernel.shape[2] // 2, wide // 2)
    functional.conv2d(x, kernel, padding=padding).sum().backward()


def as_columns(x: Tensor, kernel: Tensor) -> None:
    """The same numbers: each column of the result reads all columns of the picture."""
    width, wide = x.shape[3], kernel.shape[3]
    columns = x.squeeze(1).transpose(1, 2)
    if wide == width:
        functional.conv1d(columns, kernel.squeeze(1).transpose(1, 2)).sum().backward()
        return
    at = torch.arange(width) - torch.arange(width)[:, None] + wide // 2
    weights = kernel[0, 0][:, at.clamp(0, wide - 1)] * ((at >= 0) & (at < wide))  # row, out, in
    functional.conv1d(columns, weights.permute(1, 2, 0), padding=kernel.shape[2] // 2).sum().backward()


def cases() -> Iterator[Case]:
    for batch, length, width, channels, high, wide in SIZES:
        x = torch.randn(batch, 1, length, width, requires_grad=True)
        kernel = torch.randn(channels, 1, high, wide, requires_grad=True)
        size = f"{batch} × {length} × {width}, {channels} of {high} × {wide}"
        yield Case((size,), partial(as_picture, x, kernel), partial(as_columns, x, kernel))


def main(arguments: Sequence[str]) -> int:
    columns = ["size", "picture ms", "columns ms"]
    return compare("wide-kernels", __doc__, arguments, columns, cases)
