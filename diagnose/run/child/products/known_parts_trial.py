"""Layers that a loop applies to an input of which a part does not depend on the rounds before: that part's
columns of the product can be made once, ahead of the loop. Both ways are tried on what the script's is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ..inspection import inside_a_transform
from ..values import Call
from .one_step_trial import lstm_cell
from .product_trial import Way, share_left

_LAYERS: dict[str, Callable[..., Tensor]] = {"linear": F.linear, "conv1d": F.conv1d, "conv2d": F.conv2d}
CELLS = {"lstm_cell": 2, "gru_cell": 1, "rnn_tanh_cell": 1, "rnn_relu_cell": 1}  # so many tensors of state
_LONG_NS = 5_000_000  # of one call: the trial takes a hundred times as long


Parts = Sequence[tuple[int, bool]]  # columns, or channels of a convolution, and whether they are known


def is_layer(call: Call) -> bool:
    """Whether that is a layer or a cell that can be tried, on a processor; a convolution in groups cannot."""
    given = call.given
    if call.name not in (*_LAYERS, *CELLS) or inside_a_transform():
        return False
    if any(tensor.device.type != "cpu" or tensor.layout != torch.strided for tensor in given):
        return False
    if call.name in CELLS:
        return len(given) == 1 + CELLS[call.name] + 4 and given[0].dim() == 2
    is_convolution = call.name != "linear"
    rows, weight = given[:2]
    fits = rows.dim() == weight.dim() if is_convolution else rows.dim() >= 2
    return fits and rows.shape[1 if is_convolution else -1] == weight.shape[1]


def left_of_known(call: Call, parts: Parts, count: int, ns: int, *, is_trained: bool) -> float | None:
    """The share of so many such calls' time, and of their backward's (``is_trained``), that is left if what
    is known is multiplied ahead. None where it takes too long to try. ``ns``: what the script's took.
    """
    if ns > _LONG_NS:
        return None
    way = _cells if call.name in CELLS else _layers
    return min(1.0, share_left(*way(call, parts, count), is_trained=is_trained))


def _layers(call: Call, parts: Parts, count: int) -> tuple[Way, Way]:
    layer, options = _LAYERS[call.name], {k: v for k, v in call.options.items() if not isinstance(v, Tensor)}
    settings = call.arguments[3:]
    dimension = -1 if call.name == "linear" else 1
    rows, weight, *bias = call.given

    def make(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return layer(rows, weight, bias, *settings, **options)

    def as_is(*given: Tensor) -> Tensor:
        return torch.stack([make(*given) for _ in range(count)])

    pieces = _Pieces(rows, weight, parts, dimension)

    def ahead(*given: Tensor) -> Tensor:
        (rows, weight, *rest), bias = given[: len(pieces.given)], given[len(pieces.given) :]
        products = make(torch.cat([rows] * count), weight, *bias).chunk(count)
        return torch.stack([product + make(*rest) for product in products])

    return (as_is, [rows, weight, *bias]), (ahead, [*pieces.given, *bias])


def _cells(call: Call, parts: Parts, count: int) -> tuple[Way, Way]:
    cell = lstm_cell if call.name == "lstm_cell" else getattr(torch, call.name)
    states = CELLS[call.name]
    rows, *rest = call.given
    weight = rest[states]

    def as_is(*given: Tensor) -> Tensor:
        return torch.stack([cell(*given) for _ in range(count)])

    pieces = _Pieces(rows, weight, parts, -1)
    others = [*rest[:states], *rest[states + 1 :]]  # states, recurrent weight, both biases

    def ahead(*given: Tensor) -> Tensor:
        rows, weight, *rest = given[: len(pieces.given)]
        *state, recurrent, bias, recurrent_bias = given[len(pieces.given) :]
        results = []
        for product in F.linear(torch.cat([rows] * count), weight, bias).chunk(count):
            gates = product + F.linear(*rest) if pieces.has_rest else product
            results.append(_BY_HAND[call.name](gates, F.linear(state[0], recurrent, recurrent_bias), *state))
        return torch.stack(results)

    return (as_is, list(call.given)), (ahead, [*pieces.given, *others])


def _lstm(gates: Tensor, recurrent: Tensor, state: Tensor, memory: Tensor) -> Tensor:
    taken, kept, new, shown = (gates + recurrent).chunk(4, 1)
    memory = kept.sigmoid() * memory + taken.sigmoid() * new.tanh()
    return shown.sigmoid() * memory.tanh()


def _gru(gates: Tensor, recurrent: Tensor, state: Tensor) -> Tensor:
    (reset, kept, new), (of_reset, of_kept, of_new) = gates.chunk(3, 1), recurrent.chunk(3, 1)
    new = torch.tanh(new + (reset + of_reset).sigmoid() * of_new)
    return new + (kept + of_kept).sigmoid() * (state - new)


_BY_HAND: dict[str, Callable[..., Tensor]] = {
    "lstm_cell": _lstm,
    "gru_cell": _gru,
    "rnn_tanh_cell": lambda gates, recurrent, _: torch.tanh(gates + recurrent),
    "rnn_relu_cell": lambda gates, recurrent, _: torch.relu(gates + recurrent),
}


class _Pieces:
    """The input and the weight in two: what is known, and after it the rest, if there is one (``has_rest``).
    ``given``: of each both.
    """

    def __init__(self, rows: Tensor, weight: Tensor, parts: Parts, dimension: int) -> None:
        widths = [width for width, _ in parts]
        of_rows, of_weight = rows.split(widths, dimension), weight.split(widths, 1)
        self.given: list[Tensor] = []
        for is_known in (True, False):
            those = [at for at, (_, known) in enumerate(parts) if known is is_known]
            if those:
                self.given.append(torch.cat([of_rows[at] for at in those], dimension))
                self.given.append(torch.cat([of_weight[at] for at in those], 1))
        self.has_rest = len(self.given) > 2
