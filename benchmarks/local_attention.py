"""What attention to the frames just before takes in blocks, beside attention to all with a mask.

    python -m benchmarks local-attention

ms of the shortest of several timings each, with the backward, by threads, frames and how many of them each
one sees, on the CPU; eight heads of 32 numbers. "pairs" is the share of all pairs that the blocks compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from benchmarks.two_ways import Case, compare

SIZES = [(256, 32), (512, 32), (512, 64), (1_024, 32), (1_024, 128), (2_048, 64)]
BATCH, HEADS, WIDTH = 4, 8, 32

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def band(rows: int, columns: int, offset: int, window: int) -> Tensor:
    """Which of ``columns`` each of ``rows`` sees: itself, ``offset`` to the right, and those just before."""
    back = torch.arange(rows)[:, None] + offset - torch.arange(columns)
    return (back >= 0) & (back < window)


def of_all(mask: Tensor) -> Attention:
    return partial(scaled_dot_product_attention, attn_mask=mask)


def in_blocks(window: int) -> Attention:
    """Each block of queries beside its own keys and those of the block before it, whose first is empty."""
    mask = band(window, 2 * window, window, window)

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        count = q.shape[2] // window
        queries = q.unflatten(2, (count, window)).transpose(1, 2)
        keys, values = (
            pad(one, (0, 0, window, 0)).unfold(2, 2 * window, window).movedim(-1, -2).transpose(1, 2)
            for one in (k, v)
        )
        masks = mask.repeat(count, 1, 1)
        masks[0, :, :window] = False
        found = scaled_dot_product_attention(queries, keys, values, attn_mask=masks[None, :, None])
        return found.transpose(1, 2).flatten(2, 3)

    return attention


def both_ways(attention: Attention, given: Sequence[Tensor]) -> None:
    attention(*given).sum().backward()


def cases() -> Iterator[Case]:
    for frames, window in SIZES:
        given = [torch.randn(BATCH, HEADS, frames, WIDTH, requires_grad=True) for _ in range(3)]
        ways = of_all(band(frames, frames, 0, window)), in_blocks(window)
        torch.testing.assert_close(*(attention(*given) for attention in ways))
        told = frames, window, f"{2 * window / frames:.2f}"
        yield Case(told, *(partial(both_ways, attention, given) for attention in ways))


def main(arguments: Sequence[str]) -> int:
    columns = ["frames", "seen", "pairs", "masked ms", "blocks ms"]
    return compare("local-attention", __doc__, arguments, columns, cases, timings=6)
