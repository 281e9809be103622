"""What a recurrent module takes beside a loop of its cells over the time steps, with their backward.

    python -m benchmarks cell-loops

ms of the shortest of several timings each, by threads and sizes (rows × time steps × units), on the CPU.
Where each input is the last output, cells stand beside the module called for one time step after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.two_ways import Case, compare, trained

SIZES = [(16, 25, 64), (64, 50, 128), (160, 25, 64), (64, 25, 256)]
OWN_OUTPUT = [(64, 50, 32), (16, 25, 128)]
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


def on_its_output(call: nn.Module, first: Tensor, steps: int) -> Tensor:
    """A cell, or a module that is given one time step: [1, rows, units]."""
    word, state, outputs = first, None, []
    for _ in range(steps):
        if isinstance(call, nn.RNNCellBase):
            state = call(word, state)
            word = state[0] if isinstance(state, tuple) else state
        else:
            word, state = call(word, state)
        outputs.append(word)
    return torch.stack(outputs)


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
        for rows, steps, units in OWN_OUTPUT:
            first = torch.randn(rows, units, requires_grad=True)
            ways = (
                partial(trained, partial(on_its_output, cell(units, units), steps=steps), first),
                partial(
                    trained, partial(on_its_output, module(units, units), steps=steps), first.unsqueeze(0)
                ),
            )
            yield Case((name, f"{rows} × {steps} × {units}, on its output"), *ways)


def main(arguments: Sequence[str]) -> int:
    return compare("cell-loops", __doc__, arguments, ["", "size", "cells ms", "module ms"], cases)
