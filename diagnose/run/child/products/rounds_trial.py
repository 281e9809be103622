"""Products, recurrent cells and networks, and convolutions that a loop makes of few rows each with the same
weights: one for all rounds reads these once, and makes one gradient of them. Both ways are tried on what the
script's is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..inspection import inside_a_transform
from ..tensors import map_tensors
from ..values import Call
from .product_trial import share_left
from .recurrent import Network, network_of


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


def left_of_rounds(call: Call, ns: int, shapes: Sequence[tuple[int, ...]]) -> float | None:
    """The share of the time of calls with results of these shapes, and of their backward's if they have one,
    that one call leaves; None for another call, or where it takes too long to try. ``ns``: what the script's
    took.
    """
    if inside_a_transform() or ns > _LONG_NS:
        return None
    network = network_of(call)
    if network is not None:
        return _left_of_sequences(network, [shape[network.time] for shape in shapes])
    product, given, count = _PRODUCTS.get(call.name), call.given, len(shapes)
    if product is None or len(given) <= product.batched:
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


def _left_of_sequences(network: Network, lengths: Sequence[int]) -> float:
    """One batch of all, padded to the longest. What they are given is the network's steps, again and again up
    to these lengths.
    """
    count, state_count, time = len(lengths), len(network.states), network.time
    steps = torch.arange(max(lengths), device=network.inputs.device) % network.step_count
    given = [network.inputs.index_select(time, steps), *network.given[1:]]

    def in_rounds(inputs: Tensor, *given: Tensor) -> Tensor:
        each = (network.output(inputs.narrow(time, 0, length), *given) for length in lengths)
        return torch.cat([states.flatten() for states in each])

    def at_once(inputs: Tensor, *given: Tensor) -> Tensor:
        states = (torch.cat([state] * count, dim=1) for state in given[:state_count])
        return network.output(torch.cat([inputs] * count, dim=1 - time), *states, *given[state_count:])

    left = share_left((in_rounds, given), (at_once, given), is_trained=torch.is_grad_enabled())
    return min(1.0, left)
