"""Linear layers of one shape, each with weights of its own, that are called in turn: heads, an ensemble, a
network for each feature. One product of stacked weights does for all. Both ways are tried on what the
script's is given.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ..inspection import inside_a_transform
from ..values import Call
from .product_trial import share_left

_LONG_NS = 5_000_000  # of one layer: the trial takes a hundred times as long


def left_of_members(call: Call, ns: int, shapes: Sequence[tuple[int, ...]]) -> float | None:
    """The share of the time of layers with results of these shapes, all alike, and of their backward's if
    they have one, that one product leaves; None for another call, or where it takes too long to try. ``ns``:
    what the script's took.
    """
    given, count = call.given, len(shapes)
    if call.name != "linear" or len(given) not in (2, 3) or inside_a_transform() or ns > _LONG_NS:
        return None
    if given[0].dim() < 2 or any(tensor.device.type != "cpu" for tensor in given):
        return None
    rows, weights, *bias = given
    stacked = [
        _members(rows.detach().flatten(0, -2), count, rows),
        _members(weights.detach().t(), count, weights),
        *(_members(numbers.detach()[None], count, numbers) for numbers in bias),
    ]

    def in_turn(*given: Tensor) -> Tensor:
        return torch.stack([F.linear(*given) for _ in range(count)])

    return share_left((in_turn, given), (at_once, stacked), is_trained=torch.is_grad_enabled())


def _members(one: Tensor, count: int, like: Tensor) -> Tensor:
    return torch.stack([one] * count).requires_grad_(like.requires_grad)


def at_once(rows: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    """``rows``: (members, rows, in); ``weights``: (members, in, out); ``bias``: (members, 1, out)."""
    return torch.bmm(rows, weights) if bias is None else torch.baddbmm(bias, rows, weights)
