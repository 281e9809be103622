"""Products, and recurrent cells, that a loop makes of few rows each with the same weights: one for all rounds
reads the weights once, and makes one gradient of them. Both ways are tried on what the script's is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..inspection import inside_a_transform
from .product_trial import shortest_ns


class _Product(NamedTuple):
    """``batched``: so many of the tensors that it is given have rows; the others are weights."""

    make: Callable[..., Tensor]
    batched: int = 1


def lstm_cell(rows: Tensor, state: Tensor, memory: Tensor, *weights: Tensor) -> Tensor:
    """Its output alone, as other cells give it."""
    return torch.lstm_cell(rows, (state, memory), *weights)[0]


_PRODUCTS = {
    "linear": _Product(F.linear),
    "matmul": _Product(torch.matmul),
    "__matmul__": _Product(torch.matmul),
    "mm": _Product(torch.matmul),
    "lstm_cell": _Product(lstm_cell, 3),
    "gru_cell": _Product(torch.gru_cell, 2),
    "rnn_tanh_cell": _Product(torch.rnn_tanh_cell, 2),
    "rnn_relu_cell": _Product(torch.rnn_relu_cell, 2),
}
_LONG_NS = 5_000_000  # of one product: the trial takes a hundred times as long


def left_of_rounds(name: str, given: list[Tensor], ns: int, count: int) -> float | None:
    """The share of so many such calls' time, with their backward if they have one, that one leaves; None for
    another call, or where it takes too long to try. ``ns``: what the script's took.
    """
    product = _PRODUCTS.get(name)
    if product is None or inside_a_transform() or ns > _LONG_NS or len(given) <= product.batched:
        return None
    if given[product.batched].dim() != 2:
        return None
    if any(tensor.device.type != "cpu" or tensor.layout != torch.strided for tensor in given):
        return None
    make, batched = product

    def in_rounds(*given: Tensor) -> Tensor:
        return torch.stack([make(*given) for _ in range(count)])

    def at_once(*given: Tensor) -> Tensor:
        rows = (torch.cat([torch.atleast_2d(tensor)] * count) for tensor in given[:batched])
        return make(*rows, *given[batched:])

    rounds_ns, once_ns = shortest_ns((in_rounds, given), (at_once, given), is_trained=torch.is_grad_enabled())
    return min(1.0, once_ns / max(rounds_ns, 1))
