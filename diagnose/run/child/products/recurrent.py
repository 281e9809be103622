"""What a call of a recurrent network is given."""

from __future__ import annotations

from typing import Any, NamedTuple

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
    def step_count(self) -> int:
        return self.inputs.shape[int(self.batch_first)]


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
