"""What a recurrent module takes beside a loop of its cells over the time steps, with their backward.

    python -m benchmarks cell-loops

ms of the shortest of several timings each, by threads and sizes (rows × time steps × units), on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.two_ways import Case, compare, trained

SIZES = [(16, 25, 64), (64, 50, 128), (160, 25, 64), (64, 25, 256)]
KINDS: dict[str, tuple[Callable[..., nn.Module], Callable[..., nn.Module]]] = {
    "LSTM": (nn.LSTMCell, nn.LSTM),
    "GRU": (nn.GRUCell, nn.GRU),
    "RNN": (nn.RNNCell, nn.RNN),
}


def by_cells(cell: nn.Module, sequence: Tensor) -> Tensor:
    state, outputs = None, []
    for values in sequence.unbind(1):
        state = cell(values, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(outputs, dim=1)


def by_module(module: nn.Module, sequence: Tensor) -> Tensor:
    outputs: Tensor = module(sequence)[0]
    return outputs


def cases() -> Iterator[Case]:
    for name, (cell, module) in KINDS.items():
        for rows, steps, units in SIZES:
            sequence = torch.randn(rows, steps, units, requires_grad=True)
            ways = (
                partial(trained, partial(by_cells, cell(units, units)), sequence),
                partial(trained, partial(by_module, module(units, units, batch_first=True)), sequence),
            )
            yield Case((name, f"{rows} × {steps} × {units}"), *ways)


def main(arguments: Sequence[str]) -> int:
    return compare("cell-loops", __doc__, arguments, ["", "size", "cells ms", "module ms"], cases)
