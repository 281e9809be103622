"""What `scaled_dot_product_attention` takes on a CPU beside attention that is written out.

    python -m benchmarks fused-attention

ms of the shortest of several timings each, with the backward, by threads and sizes. Written out: the product,
a scale and a mask over the scores, the softmax, the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch

from benchmarks.local_attention import Attention, both_ways
from benchmarks.two_ways import Case, compare
from diagnose.run.child.attention_trial import fused, written

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
    for heads, tokens, width in SIZES:
        given = [torch.randn(1, heads, tokens, width, requires_grad=True) for _ in range(3)]
        ways: tuple[Attention, Attention] = partial(written, PASSES), fused
        yield Case((heads, tokens, width), *(partial(both_ways, attention, given) for attention in ways))


def main(arguments: Sequence[str]) -> int:
    columns = ["heads", "tokens", "width", "written ms", "fused ms"]
    return compare("fused-attention", __doc__, arguments, columns, cases, timings=6)
