"""Which calls depend on nothing but samples and what never changes: what they give could be computed once for
each sample, as the outputs of a frozen network. Samples are the batches of a DataLoader, and rows picked from
a tensor that never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import dataloader

from ..guard import attempt
from ..line_sums import Sum
from ..patching import Patches
from ..places import Place
from ..tensors import tensors_in
from ..values import Call
from .call_places import outermost_alone

_UNCHANGED_STEPS = 2  # that a tensor has been the same, before it is said never to change


class Origin(IntEnum):
    """What a value depends on; of several the last one."""

    NEVER_CHANGES = 0
    SAMPLES = 1
    OTHERS = 2  # weights that are trained, random numbers, the host, and whatever is not known


class SampleWork:
    """Values are told by their numbers."""

    def __init__(self) -> None:
        self._origins: dict[int, Origin] = {}
        self._met: dict[int, int] = {}  # the step in which a value was first seen that no call made

    def batch(self, numbers: Iterable[int]) -> None:
        """What a loader has given."""
        self._origins |= dict.fromkeys(numbers, Origin.SAMPLES)

    def call(self, call: Call, results: Sequence[tuple[int, Tensor]], step: int) -> Origin:
        """To be told of every call, with the numbers of its results."""
        given = [self._origin(number, step, made=number not in call.fixed) for number in call.numbers]
        is_unknown = call.is_new or call.mixes_rows
        origin = Origin.OTHERS if is_unknown else max(given, default=Origin.NEVER_CHANGES)
        if given and given[0] == Origin.NEVER_CHANGES and _picks_rows(call):
            origin = Origin.SAMPLES
        elif origin == Origin.SAMPLES and any(_is_of_pairs(call, result) for _, result in results):
            origin = Origin.OTHERS
        self._origins |= dict.fromkeys((call.number, *(number for number, _ in results)), origin)
        return origin

    def _origin(self, number: int, step: int, *, made: bool) -> Origin:
        known = self._origins.get(number)
        if known is not None:
            return known
        unchanged = not made and step - self._met.setdefault(number, step) >= _UNCHANGED_STEPS
        return Origin.NEVER_CHANGES if unchanged else Origin.OTHERS


def _picks_rows(call: Call) -> bool:
    """By an index of some of them, one number each: a sample. Not of a table that is trained."""
    if call.name not in ("__getitem__", "index_select") or len(call.given) != 2:
        return False
    rows, index = call.given
    return (
        index.dim() == 1
        and not index.is_floating_point()
        and index.dtype != torch.bool
        and len(index) < (len(rows) if rows.dim() else 0)
        and not rows.requires_grad
    )


def _is_of_pairs(call: Call, result: Tensor) -> bool:
    """Each sample with each: that cannot be kept for one."""
    count = len(call.given[0]) if call.given[0].dim() else 0
    pairs = (count, count)
    return result.shape[:2] == pairs and not any(tensor.shape[:2] == pairs for tensor in call.given)


def told_at(sums: Mapping[tuple[Place, ...], Sum], others: set[Place]) -> dict[Place, Sum]:
    """Calls, each at the outermost line that leads to no others, which counts as one call. ``sums``: by the
    lines that lead there, the innermost first. ``others``: lines that lead to others.
    """
    told: dict[Place, Sum] = {}
    for lines, calls in sums.items():
        told.setdefault(outermost_alone(lines, others), Sum(call_count=1)).add_part(calls, 1.0, 0)
    return told


def tell_of_batches(patches: Patches, tell: Callable[[list[Tensor]], None]) -> None:
    """Of the tensors in each batch that a DataLoader gives, until the patches are restored."""
    iterator = dataloader._BaseDataLoaderIter
    original = iterator.__next__

    def __next__(self: Any) -> Any:
        batch = original(self)
        attempt("looking at batches", lambda: tell(list(tensors_in(batch))), None)
        return batch

    patches.replace(iterator, "__next__", __next__)
