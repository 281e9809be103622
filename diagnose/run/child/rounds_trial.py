"""Products that a loop makes of few rows each with the same weights: one for all rounds reads the weights
once, and makes one gradient of them. Both ways are tried on what the script's product is given.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from .inspection import inside_a_transform
from .product_trial import shortest_ns

_PRODUCTS: dict[str, Callable[..., Tensor]] = {
    "linear": F.linear,
    "matmul": torch.matmul,
    "__matmul__": torch.matmul,
    "mm": torch.matmul,
}
_LONG_NS = 5_000_000  # of one product: the trial takes a hundred times as long


def left_of_rounds(name: str, given: list[Tensor], ns: int, count: int) -> float | None:
    """The share of so many such products' time, with their backward if they have one, that one product
    leaves; None for another call, or where it takes too long to try. ``ns``: what the script's took.
    """
    product = _PRODUCTS.get(name)
    if product is None or inside_a_transform() or len(given) < 2 or ns > _LONG_NS or given[1].dim() != 2:
        return None
    if any(tensor.device.type != "cpu" or tensor.layout != torch.strided for tensor in given):
        return None

    def in_rounds(rows: Tensor, *weights: Tensor) -> Tensor:
        return torch.stack([product(rows, *weights) for _ in range(count)])

    def at_once(rows: Tensor, *weights: Tensor) -> Tensor:
        return product(torch.stack([rows] * count), *weights)

    is_trained = torch.is_grad_enabled()
    rounds_ns, once_ns = (shortest_ns(way, given, is_trained=is_trained) for way in (in_rounds, at_once))
    return min(1.0, once_ns / max(rounds_ns, 1))
