"""Layers that a loop applies to an input of which a part does not depend on the rounds before, as each time
step's features beside the state. What is the same in all rounds is told of with rows that are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from ..line_sums import Mendable
from ..places import Place
from ..products.known_parts_trial import CELLS, is_layer, left_of_known
from ..products.repeats import JOINS
from ..values import Call, Values
from .seen_step import TRIED_ROUNDS

# what leaves each column what it is
_KEEPS = {"view", "reshape", "flatten", "expand", "repeat", "contiguous", "unsqueeze", "squeeze", "dropout"}
_MOST = 0.75  # of the rounds depend on one before
_ROUNDS_OF_A_VALUE = 4  # and more: the same in many rounds


class _Part(NamedTuple):
    width: int
    bits: int
    number: int


@dataclass
class _Loop:
    """Calls at the same instructions with the same weights and parts."""

    place: Place
    weights: tuple[int, ...]
    widths: tuple[int, ...]
    known: list[bool]  # of each part, whether it depends on no round before
    numbers: list[set[int]]  # of each part's values
    rounds: int = 0  # bits of the groups that the calls belong to
    count: int = 0
    dependent: int = 0
    ns: int = 0
    trained_ns: int = 0
    left: float | None = None
    tried: list[bool] = field(default_factory=list)  # the parts that were known then

    @property
    def ahead(self) -> list[bool]:
        """Of each part, whether all rounds' can be multiplied at once."""
        return [
            known and len(numbers) * _ROUNDS_OF_A_VALUE > self.count
            for known, numbers in zip(self.known, self.numbers, strict=True)
        ]


class KnownParts:
    """Told of each call of one step: `made` of its result, `call` of a layer's."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._parts: dict[int, list[_Part]] = {}  # of values (by number), along their last dimension
        self._channels: dict[int, list[_Part]] = {}  # the same along the second one
        self._loops: dict[Any, _Loop] = {}

    def made(self, call: Call, number: int, result: Tensor) -> None:
        if call.name in JOINS and result.dim() > 1:
            for joined, dimension in ((self._parts, -1), (self._channels, 1)):
                if call.dimension in (dimension, dimension % result.dim()):
                    joined[number] = [
                        self._part(tensor, dimension)
                        for tensor in call.given
                        if tensor.dim() == result.dim()  # torch joins an empty one of fewer dimensions, too
                    ]
        elif call.name in _KEEPS and call.numbers:
            parts = self._parts.get(call.numbers[0])
            if parts and result.dim() and result.shape[-1] == sum(part.width for part in parts):
                self._parts[number] = parts

    def call(self, call: Call, key: Any, place: Place, earlier: list[int], ns: int, *, trained: bool) -> None:
        """``earlier``: bits of the groups that calls at the same instructions (``key``) belong to so far."""
        if not is_layer(call):
            return
        is_cell = call.name in CELLS
        of_joined = self._channels if call.name.startswith("conv") else self._parts
        parts = of_joined.get(call.numbers[0])
        if parts is None:
            if not is_cell:
                return
            parts = [self._part(call.given[0], -1)]
        weights = tuple(call.numbers[1 + CELLS.get(call.name, 0) :])
        widths = tuple(part.width for part in parts)
        loop = self._loops.setdefault(
            key, _Loop(place, weights, widths, [True] * len(parts), [set() for _ in parts])
        )
        if (loop.weights, loop.widths) != (weights, widths):
            return
        loop.rounds |= 1 << earlier[-1] if earlier else 0
        loop.count += 1
        loop.dependent += bool(call.bits & loop.rounds)
        loop.ns += ns
        loop.trained_ns += ns if trained else 0
        for at, part in enumerate(parts):
            loop.known[at] &= not part.bits & loop.rounds
            loop.numbers[at].add(part.number)
        if loop.count in TRIED_ROUNDS and loop.dependent >= _MOST * (loop.count - 1) and any(loop.ahead):
            loop.tried = loop.ahead
            parts_known = list(zip(widths, loop.tried, strict=True))
            loop.left = left_of_known(call, parts_known, loop.count, ns, is_trained=trained)

    def calls(self, free_cells: set[Any]) -> Mendable:
        """Of layers whose input is in part known ahead; without cells (by key) that a module can replace."""
        found = Mendable()
        for key, loop in self._loops.items():
            if loop.left is not None and key not in free_cells and loop.tried == loop.ahead:
                found.add(loop.place, loop.ns, loop.trained_ns, loop.left, loop.count)
        return found

    def _part(self, tensor: Tensor, dimension: int) -> _Part:
        value = self._values.of(tensor)
        return _Part(tensor.shape[dimension], value.bits, value.number)
