"""What a call of a recurrent network is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..values import Call

_NAMES = {"lstm", "gru", "rnn_tanh", "rnn_relu"}


class Network(NamedTuple):
    """Of a padded batch: the function's name and its arguments in order. Packed ones have lengths besides."""

    name: str
    inputs: Tensor
    state: Any  # a tensor, or several
    weights: Sequence[Tensor]
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

    def run(
        self, inputs: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor], **changed: Any
    ) -> Sequence[Tensor]:
        """What it gives for these, with fields of its own changed. Without the dropout between layers: the
        script's random numbers stay what they are.
        """
        given: Any = states if len(states) > 1 else states[0]
        network = self._replace(inputs=inputs, state=given, weights=weights, dropout=0.0, **changed)
        results: Sequence[Tensor] = getattr(torch, self.name)(*network[1:])
        return results

    def output(self, inputs: Tensor, *given: Tensor) -> Tensor:
        """Of tensors as those that it is given."""
        count = len(self.states)
        return self.run(inputs, given[:count], given[count:])[0]


def network_of(call: Call) -> Network | None:
    """None for other calls, for packed sequences, single ones or projections, and on no processor."""
    if call.name not in _NAMES or len(call.arguments) != len(Network._fields) - 1 or call.options:
        return None
    network = Network(call.name, *call.arguments)
    inputs = network.inputs
    if not isinstance(inputs, Tensor) or inputs.dim() != 3 or inputs.device.type != "cpu":
        return None
    each = (4 if network.has_biases else 2) * (2 if network.both_ways else 1)
    return network if len(network.weights) == network.layers * each else None
