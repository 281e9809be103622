"""Products with weights most of which are 0: of what is multiplied by them, few positions count. Whatever
computes each position by itself can leave out the others, all the way to where they come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

_PRODUCTS = {"mul", "__mul__", "__rmul__"}
_ROWS_AT_MOST = 0.5  # that count
_MASKED_AT_MOST = 0.4  # fewer than what a dropout by hand keeps
_WEIGHTS_AT_MOST = 1_000_000  # numbers, which are counted


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


def weights_of(
    name: str, arguments: Sequence[object], numbers: Sequence[int]
) -> tuple[Weighted | None, Weighted | None]:
    """Of each of the two that a product multiplies, what counts by the other one as its weights; None where
    that is no weight, and for other calls. ``numbers``: of their values.
    """
    if name not in _PRODUCTS or len(arguments) != 2 or len(numbers) != 2:
        return None, None
    first, second = arguments
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return None, None
    return _counts(first, second, numbers[1]), _counts(second, first, numbers[0])


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
