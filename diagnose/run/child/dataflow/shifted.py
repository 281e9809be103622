"""Buffers that are copied whole to take in a few rows: `torch.cat` or `torch.roll` of what the same line gave
before, as a queue of keys or a history of frames.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from ..inspection import inside_a_transform
from ..line_sums import Mendable
from ..places import Place
from ..values import Call

_SHIFTS = {"cat", "concat", "concatenate", "roll"}
_NUMBERS_AT_LEAST = 10_000
_KEPT_AT_LEAST = 0.5


class _Given(NamedTuple):
    """What a line gave last."""

    storage: StorageWeakRef
    number_count: int

    def is_in(self, tensor: Tensor) -> bool:
        is_strided = tensor.layout == torch.strided and not self.storage.expired()
        return is_strided and tensor.untyped_storage()._cdata == self.storage.cdata


class Shifted:
    """Told of each call of each step."""

    def __init__(self) -> None:
        self._first: list[tuple[Place, int]] = []  # calls of the first step, and their ns
        self._last: dict[Place, _Given] = {}
        self._new: dict[Place, float] = {}  # by a line that shifts: the share of its result that is new

    def call(self, call: Call, place: Place, result: Tensor, ns: int, *, is_first: bool) -> None:
        """One whose result needs gradients is none: what they need may not be written to."""
        if call.name not in _SHIFTS or result.requires_grad or result.numel() < _NUMBERS_AT_LEAST:
            return
        if inside_a_transform() or result.layout != torch.strided:
            return
        last, count = self._last.get(place), result.numel()
        if last is not None and last.number_count == count:
            kept = sum(given.numel() for given in call.given if last.is_in(given)) / count
            if kept >= _KEPT_AT_LEAST:
                self._new[place] = max(0.0, 1 - kept)
        if is_first:
            self._first.append((place, ns))
        self._last[place] = _Given(StorageWeakRef(result.untyped_storage()), count)

    def calls(self) -> Mendable:
        """Of the first step, those of lines that shift. What is left of them are the new rows."""
        found = Mendable()
        for place, ns in self._first:
            if place in self._new:
                found.add(place, ns, 0, self._new[place])
        return found
