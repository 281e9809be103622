"""Attention over all pairs of which a mask leaves few, as to the words just before, or within each of several
texts that were packed into one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_TILE = 32  # rows and columns that attention in blocks computes together
_LONG = 128
_LOOKED_AT = 8  # heads of samples
_MASKED = -1e4  # what less is added to a score takes it out
# Of the pairs that blocks still compute, this much of the time (`python -m benchmarks local-attention`).
_FIXED, _OF_PAIRS, _MOST_PAIRS = 0.1, 2.6, 0.2


def left_in_blocks(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> float | None:
    """The share of its time that attention in blocks would take; None for another call, where more than a
    fifth of the tiles have pairs that count, or where all rows may see the same.
    """
    mask = options.get("attn_mask", arguments[3] if len(arguments) > 3 else None)
    if name != "scaled_dot_product_attention" or not isinstance(mask, Tensor) or mask.dim() < 2:
        return None
    if mask.device.type != "cpu" or min(mask.shape[-2:]) < _LONG:
        return None
    with torch.no_grad():
        return _left(mask if mask.dtype == torch.bool else mask > _MASKED)


def left_of_written(weights: Tensor) -> float | None:
    """The same of attention that is written out, by the ``weights`` that its softmax has given."""
    if weights.device.type != "cpu" or min(weights.shape[-2:]) < _LONG:
        return None
    with torch.no_grad():
        return _left(weights.flatten(0, -3)[:_LOOKED_AT] > 0)


def _left(seen: Tensor) -> float | None:
    pairs = _tiles(seen).float().mean().item()
    is_for_all = bool((seen == seen[..., :1, :]).all())  # padding: shorter batches are the fix
    return None if is_for_all or pairs > _MOST_PAIRS else min(1.0, _FIXED + _OF_PAIRS * pairs)


def _tiles(seen: Tensor) -> Tensor:
    """Which tiles of pairs hold one that counts."""
    rows, columns = (size // _TILE * _TILE for size in seen.shape[-2:])
    tiles = seen[..., :rows, :columns].unflatten(-1, (-1, _TILE)).unflatten(-3, (-1, _TILE))
    return tiles.any(-1).any(-2)
