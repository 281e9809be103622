"""What a product of integer matrices takes beside one of floats, the conversion included.

    python -m benchmarks integer-products

ms of the shortest of several timings each, by threads and sizes (m × k times k × n), on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

SIZES = [(32, 64, 256), (128, 128, 128), (64, 256, 4_000), (256, 256, 256), (500, 20, 500)]
KINDS = (torch.int64, torch.int32)
THREADS, TIMINGS = (1, 2), 12


def of_floats(left: Tensor, right: Tensor) -> Tensor:
    return left.float() @ right.float()


def main(arguments: Sequence[str]) -> int:
    parser("integer-products", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    found = []
    for threads in THREADS:
        torch.set_num_threads(threads)
        for kind in KINDS:
            for m, k, n in SIZES:
                left, right = torch.randint(0, 2, (m, k)).to(kind), torch.randint(0, 2, (k, n)).to(kind)
                whole_ms = shortest_ms(partial(torch.matmul, left, right), TIMINGS)
                float_ms = shortest_ms(partial(of_floats, left, right), TIMINGS)
                size = f"{m:,} × {k:,} × {n:,}"
                share = f"{float_ms / whole_ms:.2f}"
                found.append((threads, str(kind), size, f"{whole_ms:.3f}", f"{float_ms:.3f}", share))
    print(table(["threads", "kind", "size", "integers ms", "floats ms", "left"], found))
    return 0
