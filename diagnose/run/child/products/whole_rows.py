"""Rows that are gathered, or added up, number by number: `gather` and `scatter_add` are given an index that
says the same for all numbers of a row. `index_select` and `index_add` move whole rows. Both ways are tried on
what the script's call is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .product_trial import LONG_NS, share_left

_ADDS = {"scatter_add", "scatter_add_"}
_PARTS = ("input", "dim", "index", "src")
_WIDTH_AT_LEAST, _NUMBERS_AT_LEAST = 8, 10_000


@dataclass(frozen=True)
class MovedRows:
    """``table``: of which rows are taken, or to which ``added`` ones go, [..., rows, width]; ``index``: of
    each number, as the script has it, [..., moved rows, width].
    """

    table: Tensor
    index: Tensor
    added: Tensor | None


def moved_rows(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> MovedRows | None:
    """None for another call, for one of few numbers, and on a GPU, which would have to be waited for."""
    if name != "gather" and name not in _ADDS:
        return None
    given = dict(zip(_PARTS, arguments, strict=False)) | options
    table, dim, index, added = (given.get(part) for part in _PARTS)
    if not isinstance(table, Tensor) or not isinstance(index, Tensor) or not isinstance(dim, int):
        return None
    if table.device.type != "cpu" or index.dim() != table.dim() or index.dim() < 2:
        return None
    before, width = index.shape[:-2], index.shape[-1]
    if (*before, width) != (*table.shape[:-2], table.shape[-1]) or dim % index.dim() != index.dim() - 2:
        return None
    if index.numel() < _NUMBERS_AT_LEAST or width < _WIDTH_AT_LEAST:
        return None
    if name in _ADDS and (not isinstance(added, Tensor) or added.shape != index.shape):
        return None
    if not says_the_same_of_a_row(index):
        return None
    return MovedRows(table, index, added if name in _ADDS else None)


def says_the_same_of_a_row(index: Tensor) -> bool:
    """Whether the index is one number for all of a row."""
    return index.stride(-1) == 0 or torch.equal(index, index[..., :1].expand_as(index))


def left_as_rows(moved: MovedRows, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that is left if whole rows are moved;
    None where it takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    table, index, added = moved.table, moved.index, moved.added
    zeros = torch.zeros(table.shape, dtype=table.dtype)

    def taken(rows: Tensor) -> Tensor:
        return rows.gather(-2, index)

    def sums(rows: Tensor) -> Tensor:
        return zeros.scatter_add(-2, index, rows)

    given, by_number, by_row = (
        ([table], taken, lambda rows: rows_taken(rows, index))
        if added is None
        else ([added], sums, lambda rows: rows_added(zeros, index, rows))
    )
    return share_left((by_number, given), (by_row, given), is_trained=is_trained)


def rows_taken(table: Tensor, index: Tensor) -> Tensor:
    """What `gather` gives."""
    return table.flatten(0, -2).index_select(0, _of_all(table, index)).view(index.shape)


def rows_added(table: Tensor, index: Tensor, added: Tensor) -> Tensor:
    """What `scatter_add` gives, but for the order of the additions."""
    return table.flatten(0, -2).index_add(0, _of_all(table, index), added.flatten(0, -2)).view(table.shape)


def _of_all(table: Tensor, index: Tensor) -> Tensor:
    """The rows' numbers, were the table one after the other."""
    of_each = index[..., 0].flatten(0, -2) if index.dim() > 2 else index[None, :, 0]
    return (of_each + torch.arange(len(of_each))[:, None] * table.shape[-2]).flatten()
