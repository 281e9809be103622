"""Attention over all pairs of which a mask leaves few."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from diagnose.run.child.products.masked import left_in_blocks

SDPA = "scaled_dot_product_attention"
QKV = [torch.zeros(1, 1, 256, 8) for _ in range(3)]


def band(frames: int, window: int) -> Tensor:
    back = torch.arange(frames)[:, None] - torch.arange(frames)
    return (back >= 0) & (back < window)


def left(mask: Tensor) -> float | None:
    return left_in_blocks(SDPA, (*QKV, mask), {})


def test_a_band_is_computed_in_two_blocks_for_each() -> None:
    """512 frames are 16 by 16 tiles of 32: 16 on the diagonal and 15 beside it hold pairs that count."""
    assert left(band(512, 32)) == pytest.approx(0.1 + 2.6 * 31 / 256)


def test_texts_that_were_packed_together() -> None:
    """Eight of 64 words each: 4 tiles of each text, 32 of 256."""
    text = torch.arange(512) // 64
    same = text[:, None] == text
    assert left(same) == pytest.approx(0.1 + 2.6 * 32 / 256)
    assert left(same[None, None]) == left(same)
    hidden = torch.zeros(512, 512).masked_fill(~same, float("-inf"))
    assert left(hidden) == left(same) == left_in_blocks(SDPA, tuple(QKV), {"attn_mask": hidden})


@pytest.mark.parametrize(
    "make",  # masks that live no longer than their test
    [
        lambda: torch.ones(512, 512).tril().bool(),  # half of the tiles
        lambda: band(256, 32),  # 15 of 64 tiles: nothing is gained
        lambda: band(96, 8),  # short
        lambda: torch.eye(512, dtype=torch.bool)[torch.arange(512) * 37 % 512],  # one of each tile's pairs
        lambda: (torch.arange(512) < 60).expand(2, 1, 512, 512),  # padding
        lambda: torch.zeros(8, 512, 512),  # a bias of positions
    ],
)
def test_others_are_left_alone(make: Callable[[], Tensor]) -> None:
    assert left(make()) is None


def test_other_calls_are_left_alone() -> None:
    assert left_in_blocks("softmax", (*QKV, band(512, 32)), {}) is None
    assert left_in_blocks(SDPA, tuple(QKV), {"is_causal": True}) is None
