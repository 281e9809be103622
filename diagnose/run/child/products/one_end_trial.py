"""What a bidirectional recurrent network takes of which one end is read, if that alone is computed. Both are
tried on what the script's is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

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
    inputs, state, weights, has_biases, layers, _, trains, _, batch_first = call.arguments
    states = list(state) if isinstance(state, tuple | list) else [state]
    network, each = getattr(torch, call.name), 4 if has_biases else 2
    time = int(batch_first)

    def run(
        rows: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor], layers: int, *, both_ways: bool
    ) -> Sequence[Tensor]:
        # without the dropout between layers: the script's random numbers stay what they are
        given: Any = states if len(states) > 1 else states[0]
        results: Sequence[Tensor] = network(
            rows, given, weights, has_biases, layers, 0.0, trains, both_ways, batch_first
        )
        return results

    count, below = len(states), 2 * (layers - 1) * each  # of states, and of weights below the last layer

    def as_is(rows: Tensor, *given: Tensor) -> Tensor:
        output, state, *_ = run(rows, given[:count], given[count:], layers, both_ways=True)
        return output.select(time, -1) if end is End.OUTPUT else state[-1]

    def at_one_end(rows: Tensor, *given: Tensor) -> Tensor:
        states, weights = given[:count], given[count:]
        if layers > 1:
            rows, *_ = run(
                rows, [state[:-2] for state in states], weights[:below], layers - 1, both_ways=True
            )
        last = [state[-1:] for state in states]
        if end is End.STATE:
            return run(rows.flip(time), last, weights[below:], 1, both_ways=False)[1][-1]
        forward, reverse = weights[below : below + each], weights[below + each :]
        there, *_ = run(rows, [state[-2:-1] for state in states], forward, 1, both_ways=False)
        back, *_ = run(rows.narrow(time, -1, 1), last, reverse, 1, both_ways=False)
        return torch.cat([there.select(time, -1), back.select(time, 0)], -1)

    unread = weights[below : below + each] if end is End.STATE else []
    needed = [weight for weight in weights if not any(weight is one for one in unread)]
    return (as_is, [inputs, *states, *weights]), (at_one_end, [inputs, *states, *needed])
