"""Rows that hold the same numbers: a network that is given each pair of positions, or each edge of a few
kinds, computes the same for all rows that are equal. It may be applied to one of each, and the results looked
up.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import torch
from torch import Tensor

from ..values import Call
from .product_trial import shortest_ns

_PRODUCTS = {"linear", "matmul", "__matmul__", "mm"}
_ROW_BY_ROW = re.compile(
    r"relu6?|leaky_relu|p?relu|r?r?elu|selu|celu|gelu|silu|mish|tanh|sigmoid|logsigmoid|softplus|softsign|hard\w+"
    r"|exp|log|log1p|sin|cos|abs|sign|sqrt|rsqrt|neg|__neg__|square|(__)?r?pow(__)?|clamp\w*|float|double|to"
    r"|(__)?r?(add|sub|mul|div|truediv)(__)?|contiguous|clone|detach"
)
_ALONG_LAST = {"softmax", "log_softmax", "layer_norm"}
_VIEWS = {"view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze"}
_COUNT_AT_LEAST, _NUMBERS_AT_MOST, _COMPARED_AT_MOST = 1000, 2_000_000, 30
# of rows but for those of the most frequent kind, which may be padding
_DISTINCT_AT_MOST = 0.25


class Rows(NamedTuple):
    """Of a value: of its ``row_count`` rows ``distinct_count`` differ, as in ``source`` (the number of the
    value that they were found in).
    """

    source: int
    row_count: int
    distinct_count: int

    @property
    def left(self) -> float:
        """The share that is left of a call that computes each row for itself."""
        return self.distinct_count / self.row_count


class EqualRows:
    """Told of each call of a step: `made`, and before it `looked_up`."""

    def __init__(self) -> None:
        self._of: dict[int, Rows] = {}  # by the number of a value
        self._compared: dict[int, Rows | None] = {}
        self._looked_up: set[int] = set()

    def made(self, call: Call, result: Tensor, number: int, *, may_start: bool) -> Rows | None:
        """Of a result whose rows are equal where those are that it was computed from. ``may_start``: whether
        the rows of what a product is given are compared.
        """
        rows = self._kept(call, result)
        if rows is None and may_start and _is_product(call):
            rows = self._found(call.given[0], call.numbers[0])
        if rows is not None:
            self._of[number] = rows
        return rows

    def looked_up(self, call: Call, result: Tensor) -> dict[int, int]:
        """By the number of a value with equal rows that this call needs all of: ns that it takes to look them
        up among the distinct ones.
        """
        if self._kept(call, result) is not None:
            return {}
        needed = {
            number: _lookup_ns(tensor, self._of[number])
            for number, tensor in zip(call.numbers, call.given, strict=True)
            if number in self._of and number not in self._looked_up
        }
        self._looked_up.update(needed)
        return needed

    def _kept(self, call: Call, result: Tensor) -> Rows | None:
        """Of what is computed of such rows, each for itself."""
        if not call.given or (rows := self._of.get(call.numbers[0])) is None:
            return None
        given, width = call.given[0], call.given[0].shape[-1]
        if call.name in _VIEWS:
            return rows if result.shape[-1:] == given.shape[-1:] and result.dim() > 1 else None
        if result.shape[:-1] != given.shape[:-1]:
            return None
        if _is_product(call):
            return rows
        by_row = _ROW_BY_ROW.fullmatch(call.name.removesuffix("_")) is not None or (
            call.name in _ALONG_LAST and _is_along_last(call)
        )
        others = zip(call.numbers[1:], call.given[1:], strict=True)
        alike = all(self._of.get(number) == rows or tensor.numel() <= width for number, tensor in others)
        return rows if by_row and alike else None

    def _found(self, given: Tensor, number: int) -> Rows | None:
        if number not in self._compared:
            may = len(self._compared) < _COMPARED_AT_MOST and _may_be_compared(given)
            self._compared[number] = _compared(given, number) if may else None
        return self._compared[number]


def _is_product(call: Call) -> bool:
    """Of rows with weights."""
    return call.name in _PRODUCTS and len(call.given) > 1 and call.given[1].dim() == 2


def _is_along_last(call: Call) -> bool:
    if call.name == "layer_norm":
        shape = call.options.get("normalized_shape") or call.arguments[1]
        return len(shape) == 1
    return call.dimension in (-1, call.given[0].dim() - 1)


def _may_be_compared(given: Tensor) -> bool:
    """Not on a GPU, which would have to be waited for."""
    enough = given.dim() > 1 and given.shape[:-1].numel() >= _COUNT_AT_LEAST
    plain = given.device.type == "cpu" and given.layout == torch.strided and not given.is_complex()
    return enough and plain and given.numel() <= _NUMBERS_AT_MOST


def _compared(given: Tensor, number: int) -> Rows | None:
    """By a sum for each row, whose weights have no simple ratios."""
    rows = given.detach().flatten(0, -2)
    weights = torch.arange(1, rows.shape[1] + 1, dtype=torch.float64).sin()
    _, counts = torch.unique((rows.to(torch.float64) * weights).sum(-1), return_counts=True)
    count, distinct = len(rows), len(counts)
    others = count - int(counts.max())
    return Rows(number, count, distinct) if distinct <= _DISTINCT_AT_MOST * others else None


def _lookup_ns(tensor: Tensor, rows: Rows) -> int:
    table = tensor.detach().reshape(rows.row_count, -1)[: rows.distinct_count]
    index = torch.arange(rows.row_count) % rows.distinct_count
    (ns,) = shortest_ns((lambda given: given.index_select(0, index), [table]), is_trained=False)
    return ns
