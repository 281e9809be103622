"""What Fourier transforms of real numbers take as complex ones, and what is left as half spectra.

    python -m benchmarks real-transforms

ms of the shortest of several timings each, there and back with a backward, by threads and sizes, on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

SIZES = [(16, 96, 96), (8, 256, 256), (128, 64, 64), (64, 4096), (256, 1024)]  # the first one is the batch
THREADS, TIMINGS = (1, 2), 12


def complex_ones(x: Tensor, dims: tuple[int, ...]) -> None:
    torch.fft.ifftn(torch.fft.fftn(x, dim=dims), dim=dims).real.sum().backward()


def half_spectra(x: Tensor, dims: tuple[int, ...]) -> None:
    shape = [x.shape[dim] for dim in dims]
    torch.fft.irfftn(torch.fft.rfftn(x, dim=dims), s=shape, dim=dims).sum().backward()


def main(arguments: Sequence[str]) -> int:
    parser("real-transforms", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    found = []
    for threads in THREADS:
        torch.set_num_threads(threads)
        for size in SIZES:
            x, dims = torch.randn(size, requires_grad=True), tuple(range(1, len(size)))
            complex_ms, half_ms = (
                shortest_ms(partial(way, x, dims), TIMINGS) for way in (complex_ones, half_spectra)
            )
            shown = " × ".join(map(str, size))
            found.append(
                (threads, shown, f"{complex_ms:.2f}", f"{half_ms:.2f}", f"{half_ms / complex_ms:.2f}")
            )
    print(table(["threads", "size", "complex ms", "half spectra ms", "left"], found))
    return 0
