"""Recurrent modules given one time step: what cells in their place leave of the time, tried on what is given.

How much that is depends on the width, the batch and the processor: from a fifth to all of it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..values import Call
from .product_trial import LONG_NS, share_left
from .recurrent import network_of


def lstm_cell(rows: Tensor, state: Tensor, memory: Tensor, *weights: Tensor) -> Tensor:
    """Its output alone, as other cells give it."""
    return torch.lstm_cell(rows, (state, memory), *weights)[0]


_CELLS: dict[str, Callable[..., Tensor]] = {
    "lstm": lstm_cell,
    "gru": torch.gru_cell,
    "rnn_tanh": torch.rnn_tanh_cell,
    "rnn_relu": torch.rnn_relu_cell,
}


def is_one_step(call: Call) -> bool:
    """Whether that is such a module's call, in one direction and without projections, on a processor."""
    network = network_of(call)
    return network is not None and not network.both_ways and network.step_count == 1


def left_by_cells(call: Call, ns: int, *, is_trained: bool) -> float | None:
    """The share of such a call's time, and of its backward's (``is_trained``), that cells leave; None where
    it takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    network = network_of(call)
    assert network is not None
    state_count, cell, each = len(network.states), _CELLS[call.name], len(network.weights) // network.layers

    def by_cells(inputs: Tensor, *given: Tensor) -> Tensor:
        states, weights = given[:state_count], given[state_count:]
        rows = inputs.squeeze(network.time)
        for layer in range(network.layers):
            rows = cell(rows, *(part[layer] for part in states), *weights[each * layer : each * (layer + 1)])
        return rows

    return share_left((network.output, network.given), (by_cells, network.given), is_trained=is_trained)
