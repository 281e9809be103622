"""What a bidirectional recurrent network takes of which one end is read, if that alone is computed. Both are
tried on what the script's is given.
"""

from __future__ import annotations

from enum import Enum
from functools import partial

import torch
from torch import Tensor

from ..inspection import inside_a_transform
from ..values import Call
from .product_trial import LONG_NS, Way, share_left
from .recurrent import network_of

_STEPS_AT_LEAST = 4


class End(Enum):
    """What is read."""

    OUTPUT = "the last time step of the output, where the reverse direction begins"
    STATE = "the last final state, where the reverse direction ends"


def is_both_ways(call: Call) -> bool:
    """Whether that is such a network's call, of batches and without projections, on a processor."""
    network = None if inside_a_transform() else network_of(call)
    return network is not None and network.both_ways and network.step_count >= _STEPS_AT_LEAST


def left_at_one_end(call: Call, end: End, ns: int, *, is_trained: bool) -> float | None:
    """The share of such a call's time, and of its backward's (``is_trained``), that is left; None where it
    takes too long to try. ``ns``: what the script's took.
    """
    return None if ns > LONG_NS else share_left(*ways(call, end), is_trained=is_trained)


def ways(call: Call, end: End) -> tuple[Way, Way]:
    """To that end, by the whole network and by one of whose last layer only what is read is computed."""
    network = network_of(call)
    assert network is not None
    time, layers, each = network.time, network.layers, 4 if network.has_biases else 2
    # of states, and of weights below the last layer
    count, below = len(network.states), 2 * (layers - 1) * each
    one_way = partial(network.run, layers=1, both_ways=False)

    def as_is(rows: Tensor, *given: Tensor) -> Tensor:
        output, state, *_ = network.run(rows, given[:count], given[count:])
        return output.select(time, -1) if end is End.OUTPUT else state[-1]

    def at_one_end(rows: Tensor, *given: Tensor) -> Tensor:
        states, weights = given[:count], given[count:]
        if layers > 1:
            lower = [state[:-2] for state in states]
            rows, *_ = network.run(rows, lower, weights[:below], layers=layers - 1)
        last = [state[-1:] for state in states]
        if end is End.STATE:
            return one_way(rows.flip(time), last, weights[below:])[1][-1]
        forward, reverse = weights[below : below + each], weights[below + each :]
        there, *_ = one_way(rows, [state[-2:-1] for state in states], forward)
        back, *_ = one_way(rows.narrow(time, -1, 1), last, reverse)
        return torch.cat([there.select(time, -1), back.select(time, 0)], -1)

    unread = network.weights[below : below + each] if end is End.STATE else []
    needed = [weight for weight in network.weights if not any(weight is one for one in unread)]
    return (as_is, network.given), (at_one_end, [network.inputs, *network.states, *needed])
