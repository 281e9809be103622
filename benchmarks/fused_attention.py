"""What `scaled_dot_product_attention` takes on a CPU beside attention that is written out.

    python -m benchmarks fused-attention

ms of the shortest of several timings each, with the backward, by threads, sizes and dimensions: three with
batch and heads in one, four with them apart. Written out: the product, a scale and a mask over the scores,
the softmax, the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.local_attention import both_ways
from benchmarks.two_ways import Case, compare
from diagnose.run.child.products.attention_trial import written

# heads of all sequences together, tokens, width
SIZES = [
    (64, 16, 8),
    (60, 50, 6),
    (128, 64, 32),
    (64, 128, 32),
    (64, 256, 32),
    (32, 512, 64),
    (16, 1_024, 64),
]
PASSES = 2


def cases() -> Iterator[Case]:
    for size in SIZES:
        for dimensions, shape in ((4, (1, *size)), (3, size)):
            given = [torch.randn(*shape, requires_grad=True) for _ in range(3)]
            ways = partial(written, PASSES), scaled_dot_product_attention
            yield Case((*size, dimensions), *(partial(both_ways, attention, given) for attention in ways))


def main(arguments: Sequence[str]) -> int:
    columns = ["heads", "tokens", "width", "dimensions", "written ms", "fused ms"]
    return compare("fused-attention", __doc__, arguments, columns, cases, timings=6)
