"""Sorting whole rows, of which the first few are taken, or the last: `topk` gives these without the others,
and is tried on what the script's call is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..values import Call

_SORTS = {"sort", "argsort"}
_TAKES = {"__getitem__", "narrow", "select"}


class Few(NamedTuple):
    """So many of each sorted row from its beginning on, or up to its end (``from_end``)."""

    taken: int
    from_end: bool


class Sorting(NamedTuple):
    """How rows are sorted."""

    dim: int
    descending: bool


def sorting_of(call: Call) -> Sorting | None:
    """None for a call that does not sort, or has to keep the order of equal numbers."""
    if call.name not in _SORTS or len(call.given) != 1 or call.options.get("stable"):
        return None
    given = dict(zip(("input", "dim", "descending"), call.arguments, strict=False)) | call.options
    rows, dim, descending = call.given[0], given.get("dim", -1), given.get("descending", False)
    if not rows.dim() or type(dim) is not int or type(descending) is not bool:
        return None
    return Sorting(dim % rows.dim(), descending)


def few_taken(sorting: Sorting, rows: Tensor, taking: Call) -> Few | None:
    """What a call takes of rows that were sorted; None for another call, or where it takes a number beyond
    the middle and one before it.
    """
    arguments = taking.arguments[1:]
    if taking.name not in _TAKES or any(map(_holds_tensor, (*arguments, *taking.options.values()))):
        return None
    size = rows.shape[sorting.dim]
    shape = [1] * rows.dim()
    shape[sorting.dim] = size
    places = torch.arange(size).view(shape).expand(rows.shape)
    taken = getattr(Tensor, taking.name)(places, *arguments, **taking.options)
    if not taken.numel():
        return None
    first, last = int(taken.min()), int(taken.max())
    if last < size // 2:
        return Few(last + 1, from_end=False)
    return Few(size - first, from_end=True) if first >= size - size // 2 else None


def all_sorted(rows: Tensor, sorting: Sorting, which: int) -> Tensor:
    """The sorted numbers (``which`` 0), or where they were (1)."""
    return torch.sort(rows, sorting.dim, sorting.descending)[which]


def few_sorted(rows: Tensor, sorting: Sorting, which: int, few: Few) -> Tensor:
    """As many of them, but for the order of equal numbers."""
    found = torch.topk(rows, few.taken, sorting.dim, largest=sorting.descending != few.from_end)[which]
    return found.flip(sorting.dim) if few.from_end else found


def _holds_tensor(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Tensor | list) for part in parts)
