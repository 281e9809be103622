"""Products with weights most of which are 0: of what is multiplied by them, few positions count. Whatever
computes each position by itself can leave out the others, all the way to where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

_PRODUCTS = {"mul", "__mul__", "__rmul__"}
_ROWS_AT_MOST = 0.5  # that count
_MASKED_AT_MOST = 0.4  # fewer than what a dropout by hand keeps
_WEIGHTS_AT_MOST = 5_000_000  # numbers, which are counted: some 50 ms


class Weighted(NamedTuple):
    """The ``share`` of so many ``positions`` that count, by these ``masks`` (numbers of values): the first
    dimensions of a tensor have as many, and what lies behind them belongs to one position.
    """

    share: float = 1.0
    positions: int = 0
    masks: frozenset[int] = frozenset()

    def fits(self, shape: Sequence[int], behind: int) -> bool:
        """Whether a tensor has these positions, and ``behind`` them at least so many dimensions."""
        count = 1
        for size in shape[: len(shape) - behind]:
            count *= size
            if count >= self.positions:
                break
        return count == self.positions and self.share < 1


ALL, NONE = Weighted(), Weighted(0.0)


def together(parts: Iterable[Weighted]) -> Weighted:
    """What counts for one or the other. The same mask twice lets the same positions through."""
    parts = [part for part in dict.fromkeys(parts) if part != NONE]
    if not parts:
        return NONE
    share, masks = sum(part.share for part in parts), frozenset[int]().union(*(part.masks for part in parts))
    is_one_kind = len({part.positions for part in parts}) == 1
    return Weighted(share, parts[0].positions, masks) if is_one_kind and share < 1 else ALL


def weights_of(name: str, arguments: Sequence[object], numbers: Sequence[int]) -> dict[int, Weighted]:
    """Of each tensor by its place what counts, if the call picks by weights: of a product's factors by the
    other one, and of what `torch.where` chooses from, rows by rows. ``numbers``: of the values given.
    """
    tensors = [one for one in arguments if isinstance(one, Tensor)]
    if len(tensors) != len(arguments) or len(numbers) != len(tensors):
        return {}
    if name in _PRODUCTS and len(tensors) == 2:
        first, second = tensors
        found: dict[int, Weighted | None] = {
            0: _counts(first, second, numbers[1]),
            1: _counts(second, first, numbers[0]),
        }
    elif name == "where" and len(tensors) == 3:
        found = _of_where(tensors, numbers)
    else:
        return {}
    return {at: weighted for at, weighted in found.items() if weighted is not None}


def _of_where(tensors: Sequence[Tensor], numbers: Sequence[int]) -> dict[int, Weighted | None]:
    """Of `torch.where(mask, a, b)` or `a.where(mask, b)` if its mask has a number for each row or picture."""
    mask_at = 0 if tensors[0].dtype == torch.bool else 1
    mask, number = tensors[mask_at], numbers[mask_at]
    is_small = mask.device.type == "cpu" and 0 < mask.numel() <= _WEIGHTS_AT_MOST
    if mask.dtype != torch.bool or not is_small or mask.shape[-1:] != (1,):
        return {}
    true, false = (at for at in range(3) if at != mask_at)
    return {true: _chosen(tensors[true], mask, number), false: _chosen(tensors[false], ~mask, number)}


def _chosen(given: Tensor, mask: Tensor, number: int) -> Weighted | None:
    """None where most are chosen."""
    if mask.dim() != given.dim() or given.numel() == mask.numel():
        return None
    if math.prod(given.shape[: mask.squeeze().dim() or 1]) != mask.numel():
        return None
    share = int(mask.count_nonzero()) / mask.numel()
    return Weighted(share, mask.numel(), frozenset((number,))) if 0 < share <= _ROWS_AT_MOST else None


def _counts(given: Tensor, weights: Tensor, number: int) -> Weighted | None:
    """None where most have a weight, or none has (what is learned may not have begun), and on a GPU, where to
    count would make the script wait.
    """
    if not given.dim() or isinstance(weights, torch.nn.Parameter):
        return None
    if weights.device.type != "cpu" or not 0 < weights.numel() <= _WEIGHTS_AT_MOST:
        return None
    of_rows = weights.shape[-1:] == (1,) and given.shape[-1] > 1
    if of_rows:
        fits, at_most = weights.numel() * given.shape[-1] == given.numel(), _ROWS_AT_MOST
    else:
        fits, at_most = weights.shape == given.shape and not weights.requires_grad, _MASKED_AT_MOST
    if not fits:
        return None
    weights = weights.detach()
    share = int(weights.count_nonzero()) / weights.numel()
    is_told = 0 < share <= at_most and (of_rows or _is_mask(weights, share))
    return Weighted(share, weights.numel(), frozenset((number,))) if is_told else None


def _is_mask(weights: Tensor, share: float) -> bool:
    """All but zeros are one number: no results of another layer, which happen to be 0."""
    if weights.dtype == torch.bool:
        return True
    largest = weights.max()
    return int((weights == largest).sum()) == round(share * weights.numel()) and float(largest) > 0
