"""Two calls one after the other, of which the second alone reads what the first makes, and that give the same
in another way, with less work. Both ways are tried on what the script's calls are given.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from ..places import Place
from ..values import Call
from .pair_ways import may_be_first, ways_of
from .product_trial import LONG_NS, share_left

_NUMBERS_AT_LEAST = 2_000  # of what is made in between
_KEPT_AT_MOST = 16

By = tuple[Place, int, int]  # the line, ns, and ns if it is trained


class _Made(NamedTuple):
    """A call, and where it was made."""

    call: Call
    by: By


class Pair(NamedTuple):
    """Two calls one after the other, of whose time ``left`` remains in the other way. ``way``: the facts'
    name.
    """

    way: str
    calls: tuple[By, By]
    left: float


class CallPairs:
    """Told of each call of a step."""

    def __init__(self) -> None:
        # by the number of the value, until it is read: the last few, which keep what they were given
        self._made: dict[int, _Made] = {}
        self._read: dict[int, Pair | None] = {}  # by the same, from then on
        self._tried: dict[tuple[str, Place, Place], float] = {}

    def call(self, call: Call, result: Tensor, number: int, by: By | None) -> tuple[list[Pair], list[Pair]]:
        """Pairs of calls that another way would serve, and those told before that are none: what they make
        in between is read again.
        """
        found: list[Pair] = []
        withdrawn: list[Pair] = []
        for given in dict.fromkeys(call.numbers):
            if given in self._made:
                pair = self._read[given] = self._pair(call, given, self._made.pop(given), result, by)
                found += [pair] if pair is not None else []
            elif (pair := self._read.get(given)) is not None:
                withdrawn.append(pair)
                self._read[given] = None
        if by is not None and result.numel() >= _NUMBERS_AT_LEAST and may_be_first(call):
            self._made[number] = _Made(call, by)
            if len(self._made) > _KEPT_AT_MOST:
                del self._made[next(iter(self._made))]
        return found, withdrawn

    def _pair(self, call: Call, given: int, made: _Made, result: Tensor, by: By | None) -> Pair | None:
        if by is None or result.device.type != "cpu" or made.by[1] + by[1] > LONG_NS:
            return None
        ways = ways_of(made.call, call, call.numbers.index(given), result)
        if ways is None:
            return None
        key = ways.name, made.by[0], by[0]
        if key not in self._tried:
            both = (ways.as_is, ways.given), (ways.other, ways.given)
            self._tried[key] = share_left(*both, is_trained=result.requires_grad)
        return Pair(ways.name, (made.by, by), self._tried[key])
