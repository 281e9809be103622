"""Products, recurrent cells and convolutions that a loop makes of few rows each with the same weights: one
for all rounds reads these once, and makes one gradient of them. Both ways are tried on what the script's is
given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..inspection import inside_a_transform
from ..tensors import map_tensors
from ..values import Call
from .product_trial import share_left


class _Product(NamedTuple):
    """``batched``: so many of the tensors that it is given have rows; the others are weights, the first of
    which has so many ``dimensions``. A convolution's rows have as many, else they are no batch.
    """

    make: Callable[..., Tensor]
    batched: int = 1
    dimensions: int = 2


_PRODUCTS = {
    "linear": _Product(F.linear),
    "matmul": _Product(torch.matmul),
    "__matmul__": _Product(torch.matmul),
    "mm": _Product(torch.matmul),
    "lstm_cell": _Product(lambda *given: torch.lstm_cell(*given)[0], 3),
    "gru_cell": _Product(torch.gru_cell, 2),
    "rnn_tanh_cell": _Product(torch.rnn_tanh_cell, 2),
    "rnn_relu_cell": _Product(torch.rnn_relu_cell, 2),
    "conv1d": _Product(F.conv1d, dimensions=3),
    "conv2d": _Product(F.conv2d, dimensions=4),
}
_LONG_NS = 5_000_000  # of one product: the trial takes a hundred times as long


def left_of_rounds(call: Call, ns: int, count: int) -> float | None:
    """The share of so many such calls' time, with their backward if they have one, that one leaves; None for
    another call, or where it takes too long to try. ``ns``: what the script's took.
    """
    product, given = _PRODUCTS.get(call.name), call.given
    if product is None or inside_a_transform() or ns > _LONG_NS or len(given) <= product.batched:
        return None
    rows, weights = given[: product.batched], given[product.batched]
    if weights.dim() != product.dimensions or (product.dimensions > 2 and rows[0].dim() != weights.dim()):
        return None
    if any(tensor.device.type != "cpu" or tensor.layout != torch.strided for tensor in given):
        return None

    def make(*given: Tensor) -> Tensor:
        """With the options of the script's."""
        in_turn = iter(given)
        arguments, options = map_tensors(lambda _: next(in_turn), (call.arguments, call.options))
        return product.make(*arguments, **options)

    def in_rounds(*given: Tensor) -> Tensor:
        return torch.stack([make(*given) for _ in range(count)])

    def at_once(*given: Tensor) -> Tensor:
        rows = (torch.cat([torch.atleast_2d(tensor)] * count) for tensor in given[: product.batched])
        return make(*rows, *given[product.batched :])

    left = share_left((in_rounds, given), (at_once, given), is_trained=torch.is_grad_enabled())
    return min(1.0, left)
