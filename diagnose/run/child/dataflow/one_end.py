"""Bidirectional recurrent networks one of whose directions is hardly read. At the last time step of the
output the reverse one has seen that step alone; and the last of the final states, `h[-1]`, is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..line_sums import Mendable
from ..products.call_pairs import By
from ..products.one_end_trial import End, is_both_ways, left_at_one_end
from ..values import Call
from .unread import METADATA


@dataclass
class _Network:
    """A ``call`` of one, until its step is over, by whom it was made, and the dimension of time; the share
    of its time that is left, once one ``end`` of it is read.
    """

    call: Call | None
    by: By
    time: int
    end: End | None = None
    left: float | None = None
    is_needed: bool = False  # something else of it is read, too

    def read(self, call: Call, end: End) -> None:
        picks = picks_last(call, self.time if end is End.OUTPUT else 0)
        if self.is_needed or not picks or self.end not in (None, end):
            self.is_needed = True
        elif self.end is None and self.call is not None:
            _, ns, trained_ns = self.by
            self.end, self.left = end, left_at_one_end(self.call, end, ns, is_trained=trained_ns > 0)


class OneEnd:
    """Told of each call of each step: networks of the first one are followed."""

    def __init__(self) -> None:
        self._outputs: dict[int, _Network] = {}  # by number of the value
        self._states: dict[int, _Network] = {}
        self._is_first = True

    def call(self, call: Call, results: Sequence[tuple[int, Tensor]], by: By | None) -> None:
        """``results``: with their numbers; ``by``: its line, ns, and ns if it is trained."""
        if call.name not in METADATA:
            for number in call.numbers:
                for end, networks in ((End.OUTPUT, self._outputs), (End.STATE, self._states)):
                    if number in networks:
                        networks[number].read(call, end)
        if self._is_first and by is not None and len(results) > 1 and is_both_ways(call):
            network = _Network(call, by, time=int(call.arguments[-1]))
            (output, _), *states = results
            self._outputs[output] = network
            self._states.update((number, network) for number, _ in states)

    def step(self) -> None:
        """A step has ended: tensors that networks were given are not kept."""
        self._is_first = False
        for network in self._outputs.values():
            network.call = None

    def calls(self) -> Mendable:
        found = Mendable()
        for network in self._outputs.values():
            if network.left is not None and not network.is_needed:
                found.add(*network.by, network.left)
        return found


def picks_last(call: Call, dimension: int) -> bool:
    """Whether that reads only the last of a dimension of three."""
    if call.name not in ("select", "__getitem__"):
        return False
    length = call.given[0].shape[dimension]
    if call.name == "select":
        given = dict(zip(("input", "dim", "index"), call.arguments, strict=False)) | call.options
        return given.get("dim") in (dimension, dimension - 3) and given.get("index") in (-1, length - 1)
    index = call.arguments[1]
    parts: list[Any] = list(index) if isinstance(index, tuple) else [index]
    if parts.count(Ellipsis) == 1:
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (4 - len(parts))
    if len(parts) <= dimension or any(isinstance(part, Tensor | list) or part is None for part in parts):
        return False
    last = parts[dimension]
    return type(last) is int and last in (-1, length - 1)
