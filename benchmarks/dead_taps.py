"""What dilated convolutions take some of whose taps see nothing but padding, and what is left without these.

    python -m benchmarks dead-taps

ms of the shortest of several timings each, forward and backward, by threads and sizes, on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

# batch, channels, length, taps, dilation
SIZES = [
    (8, 64, 120, 3, 128),
    (8, 128, 120, 3, 128),
    (32, 64, 50, 3, 64),
    (16, 32, 200, 5, 200),
    (8, 64, 120, 5, 64),
]
THREADS, TIMINGS = (1, 2), 12


def convolved(x: Tensor, kernel: Tensor, dilation: int) -> None:
    padding = (kernel.shape[2] - 1) * dilation // 2
    functional.conv1d(x, kernel, padding=padding, dilation=dilation).sum().backward()


def main(arguments: Sequence[str]) -> int:
    parser("dead-taps", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    found = []
    for threads in THREADS:
        torch.set_num_threads(threads)
        for batch, channels, length, taps, dilation in SIZES:
            x = torch.randn(batch, channels, length, requires_grad=True)
            seeing = 2 * ((length - 1) // dilation) + 1
            kernels = [torch.randn(channels, channels, count, requires_grad=True) for count in (taps, seeing)]
            all_ms, seeing_ms = (
                shortest_ms(partial(convolved, x, kernel, dilation), TIMINGS) for kernel in kernels
            )
            size = f"{batch} × {channels} × {length}, dilation {dilation}"
            left = f"{seeing_ms / all_ms:.2f}"
            found.append((threads, size, f"{seeing} of {taps}", f"{all_ms:.2f}", f"{seeing_ms:.2f}", left))
    print(table(["threads", "size", "taps that see", "all ms", "these ms", "left"], found))
    return 0
