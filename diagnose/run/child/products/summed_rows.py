"""Rows that a layer gives and an index adds up, as messages along the edges of a graph: what the layer gives
of the sums is the sum of what it gives of each. A number for each row may lie in between, as the norm of an
edge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..values import Call
from .product_order import SCALES, is_layer, is_product
from .whole_rows import says_the_same_of_a_row

IN_PLACE = {"index_add_", "scatter_add_"}
_PARTS = {  # of their arguments
    "index_add": ("input", "dim", "index", "source"),
    "scatter_add": ("input", "dim", "index", "src"),
}

Way = Callable[..., Tensor]


class Sums(NamedTuple):
    """``to``: to which row each is added, of ``row_count``."""

    to: Tensor
    row_count: int


def sums_of(call: Call, at: int) -> Sums | None:
    """Of a call that adds up the rows of its tensor number ``at``; None for another."""
    name = call.name.removesuffix("_")
    given = dict(zip(_PARTS.get(name, ()), call.arguments, strict=False)) | call.options
    table, dim, index = (given.get(part) for part in ("input", "dim", "index"))
    rows = given.get(_PARTS[name][-1]) if name in _PARTS else None
    if (
        rows is None
        or rows is not call.given[at]
        or rows.dim() != 2
        or table.dim() != 2
        or dim not in (0, -2)
    ):
        return None
    if given.get("alpha", 1) != 1 or index.shape[0] != rows.shape[0]:
        return None
    if index.dim() == 2:
        if not says_the_same_of_a_row(index):
            return None
        index = index[:, 0]
    return Sums(index, len(table))


def scale_of(call: Call, rows: Tensor, result: Tensor) -> Tensor | None:
    """The number for each row that the call multiplies them by; None for another call."""
    if call.name not in SCALES or len(call.given) != 2 or rows.dim() != 2 or result.shape != rows.shape:
        return None
    scales = [given for given in call.given if given is not rows and given.shape == (len(rows), 1)]
    return scales[0] if scales else None


def summed_ways(layer: Call, sums: Sums, scale: Tensor | None) -> tuple[Way, Way, list[Tensor]] | None:
    """The layer of each row and then the sums; the layer of the sums; and what both are given. None where no
    layer without a bias gives the rows, or most sums are of one row.
    """
    if not (is_product(layer) or is_layer(layer)):
        return None
    rows, weight = layer.given
    if rows.dim() != 2 or weight.dim() != 2 or len(rows) < 2 * sums.row_count:
        return None
    apply: Way = F.linear if is_layer(layer) else torch.mm

    def add_up(rows: Tensor, scales: tuple[Tensor, ...]) -> Tensor:
        scaled = rows * scales[0] if scales else rows
        return rows.new_zeros(sums.row_count, rows.shape[1]).index_add(0, sums.to, scaled)

    def as_is(rows: Tensor, weight: Tensor, *scales: Tensor) -> Tensor:
        return add_up(apply(rows, weight), scales)

    def first_summed(rows: Tensor, weight: Tensor, *scales: Tensor) -> Tensor:
        return apply(add_up(rows, scales), weight)

    return as_is, first_summed, [rows, weight, *([scale] if scale is not None else [])]
