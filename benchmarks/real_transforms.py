"""What Fourier transforms of real numbers take as complex ones, and what is left as half spectra.

    python -m benchmarks real-transforms

ms of the shortest of several timings each, there and back with a backward, by threads and sizes, on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.two_ways import Case, compare

SIZES = [(16, 96, 96), (8, 256, 256), (128, 64, 64), (64, 4096), (256, 1024)]  # the first one is the batch


def complex_ones(x: Tensor, dims: tuple[int, ...]) -> None:
    torch.fft.ifftn(torch.fft.fftn(x, dim=dims), dim=dims).real.sum().backward()


def half_spectra(x: Tensor, dims: tuple[int, ...]) -> None:
    shape = [x.shape[dim] for dim in dims]
    torch.fft.irfftn(torch.fft.rfftn(x, dim=dims), s=shape, dim=dims).sum().backward()


def cases() -> Iterator[Case]:
    for size in SIZES:
        x, dims = torch.randn(size, requires_grad=True), tuple(range(1, len(size)))
        yield Case(
            (" × ".join(map(str, size)),), partial(complex_ones, x, dims), partial(half_spectra, x, dims)
        )


def main(arguments: Sequence[str]) -> int:
    columns = ["size", "complex ms", "half spectra ms"]
    return compare("real-transforms", __doc__, arguments, columns, cases)
