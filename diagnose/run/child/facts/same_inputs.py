"""Which calls of a model are given what an earlier call was given already.

A tensor counts as the same while the Python object lives and nothing has written to it: addresses are used
again for other data.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from ..places import Place

_CALLS_AT_MOST = 8  # back to which a call is compared
_SHAPES_AT_MOST = 20


class _Given(NamedTuple):
    """A tensor by the object it is, or is a view of; its version, its shape and where it begins there."""

    owner: weakref.ref[torch.Tensor]
    version: int
    shape: tuple[int, ...]
    offset: int

    def is_same(self, other: _Given) -> bool:
        return self[1:] == other[1:] and self.owner() is not None and self.owner() is other.owner()


class _Call(NamedTuple):
    place: Place
    with_grad: bool
    given: tuple[_Given, ...]
    update: int  # how often the weights had been changed before

    def is_repeated(self, earlier: _Call) -> bool:
        """The same tensors are given. An evaluation after each update, of samples that never change, is none
        of the one before.
        """
        return (
            bool(self.given)
            and (self.with_grad or earlier.with_grad or self.update == earlier.update)
            and len(earlier.given) == len(self.given)
            and all(map(_Given.is_same, self.given, earlier.given))
        )


class SameInputs:
    """Compares what each call of a model is given with the calls before."""

    def __init__(self) -> None:
        self._calls: dict[int, deque[_Call]] = {}  # by model
        self._updates = 0
        self.forget()

    def forget(self) -> None:
        """Start counting again."""
        self._all: Counter[Place] = Counter()
        self._again: Counter[Place] = Counter()
        self._unchanged: Counter[tuple[int, ...]] = Counter()  # with gradients: of shapes, in how many calls
        self._changing: Counter[tuple[int, ...]] = Counter()

    def begin(self) -> None:
        """Calls were missed: those before are compared with no more."""
        self._calls.clear()

    def weights_changed(self) -> None:
        """By an optimizer."""
        self._updates += 1

    def call(self, model: int, tensors: Iterable[torch.Tensor], place: Place) -> None:
        """Before a call of the model (its id). Raises what a kind of tensor raises that tells no version."""
        call = _Call(place, torch.is_grad_enabled(), tuple(map(_given, tensors)), self._updates)
        before = self._calls.setdefault(model, deque(maxlen=_CALLS_AT_MOST))
        if before:  # of the first nothing can be told
            self._all[place] += 1
        same = [earlier for earlier in before if call.is_repeated(earlier)]
        if same:  # what trains is not the one to leave out
            others = [other for other in same if not other.with_grad]
            self._again[others[-1].place if call.with_grad and len(others) == len(same) else place] += 1
        if call.with_grad:
            self._compare(call, next((other for other in reversed(before) if other.with_grad), None))
        before.append(call)

    def _compare(self, call: _Call, other: _Call | None) -> None:
        if other is None or len(other.given) != len(call.given):
            return
        for one, earlier in zip(call.given, other.given, strict=True):
            counted = self._unchanged if one.is_same(earlier) else self._changing
            if one.shape in counted or len(counted) < _SHAPES_AT_MOST:
                counted[one.shape] += 1

    def facts(self) -> dict[str, Any]:
        """`again`: calls for which there is another of the same tensors, by line. Shapes: of what calls
        with gradients are given that the one before was not given (`changing`), or was (`unchanged`).
        """
        return {
            "again": [
                {**place._asdict(), "share": count / self._all[place]} for place, count in self._again.items()
            ],
            "unchanged_shapes": [list(shape) for shape in self._unchanged if shape not in self._changing],
            "changing_shapes": [list(shape) for shape in self._changing],
        }


def _given(tensor: torch.Tensor) -> _Given:
    owner = tensor._base if tensor._base is not None else tensor
    return _Given(weakref.ref(owner), tensor._version, tuple(tensor.shape), int(tensor.storage_offset()))
