"""What convolutions take whose stride is their kernel's length, beside one product of the patches.

    python -m benchmarks patch-convolutions

ms of the shortest of several timings each, by threads, without and with their backward, on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch

from benchmarks.two_ways import Case, alone, compare, trained
from diagnose.run.child.products.patches import CONVOLUTIONS, product

# what it is, input, kernel, whether the input needs gradients
SIZES = [
    ("poses over time", (256, 256, 9), (256, 256, 3), True),
    ("longer ones", (256, 256, 81), (256, 256, 3), True),
    ("patches of pictures", (16, 3, 224, 224), (192, 3, 16, 16), False),
    ("small patches", (16, 3, 64, 64), (96, 3, 4, 4), False),
    ("half as large", (16, 96, 32, 32), (192, 96, 2, 2), True),
    ("all electrodes", (32, 1, 22, 500), (40, 1, 22, 1), False),
]


def cases() -> Iterator[Case]:
    for how in (alone, trained):
        for what, shape, kernel, is_trained in SIZES:
            given = torch.randn(shape), torch.randn(kernel, requires_grad=True), torch.randn(kernel[0])
            given[0].requires_grad_(is_trained)
            convolution = partial(CONVOLUTIONS[len(shape) - 2], stride=kernel[2:])
            yield Case((how.__name__, what), partial(how, convolution, *given), partial(how, product, *given))


def main(arguments: Sequence[str]) -> int:
    columns = ["", "convolution", "convolution ms", "product ms"]
    return compare("patch-convolutions", __doc__, arguments, columns, cases)
