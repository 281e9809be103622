"""What a call of a recurrent network is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..values import Call

_NAMES = {"lstm", "gru", "rnn_tanh", "rnn_relu"}


class Network(NamedTuple):
    """Of a padded batch, in the order of the arguments; packed ones have the lengths besides."""

    inputs: Tensor
    state: Any  # a tensor, or several
    weights: list[Tensor]
    has_biases: bool
    layers: int
    dropout: float
    trains: bool
    both_ways: bool
    batch_first: bool

    @property
    def time(self) -> int:
        """The dimension of the inputs, and of the output."""
        return int(self.batch_first)

    @property
    def step_count(self) -> int:
        return self.inputs.shape[self.time]

    @property
    def states(self) -> list[Tensor]:
        return list(self.state) if isinstance(self.state, (tuple, list)) else [self.state]

    @property
    def given(self) -> list[Tensor]:
        """The inputs, the states, the weights."""
        return [self.inputs, *self.states, *self.weights]

    def module(self, name: str) -> Callable[..., Tensor]:
        """Its output, of tensors as those that it is given. Without the dropout between layers: the script's
        random numbers stay what they are.
        """
        module, state_count = getattr(torch, name), len(self.states)
        options = self.has_biases, self.layers, 0.0, self.trains, self.both_ways, self.batch_first

        def output(inputs: Tensor, *given: Tensor) -> Tensor:
            states, weights = list(given[:state_count]), list(given[state_count:])
            found: Tensor = module(inputs, states if state_count > 1 else states[0], weights, *options)[0]
            return found

        return output


def network_of(call: Call) -> Network | None:
    """None for other calls, for packed sequences, single ones or projections, and on no processor."""
    if call.name not in _NAMES or len(call.arguments) != len(Network._fields) or call.options:
        return None
    network = Network(*call.arguments)
    inputs = network.inputs
    if not isinstance(inputs, Tensor) or inputs.dim() != 3 or inputs.device.type != "cpu":
        return None
    each = (4 if network.has_biases else 2) * (2 if network.both_ways else 1)
    return network if len(network.weights) == network.layers * each else None
