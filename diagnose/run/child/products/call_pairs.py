"""Two calls one after the other, of which the second alone reads what the first makes, and that give the same
in another way, with less work. Both ways are tried on what the script's calls are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from ..places import Place
from ..values import Call
from .pair_ways import Ways, may_be_first, ways_of
from .product_order import is_turn
from .product_trial import LONG_NS, share_left
from .sorted_few import Few
from .summed_rows import scale_of
from .tried import Allowance, Tried

_NUMBERS_AT_LEAST = 2_000  # of what is made in between
_KEPT_AT_MOST = 16
_SHAPED_AS = {"expand_as", "view_as", "reshape_as", "type_as"}  # of the second tensor no number is read

By = tuple[Place, int, int]  # the line, ns, and ns if it is trained


class Pair(NamedTuple):
    """Two calls one after the other, with what lies between them, of whose time ``left`` remains in the other
    way. ``way``: the facts' name.
    """

    way: str
    calls: tuple[By, ...]
    left: float

    @property
    def saved_ns(self) -> float:
        return (1 - self.left) * sum(ns for _, ns, _ in self.calls)


@dataclass
class _Made:
    """By a call that may be the first of a pair: the ``numbers`` of its results, and once one of them is read
    the ``pair`` that was told. ``scaled``: what multiplies its rows before they are read.
    """

    call: Call | None  # None where it is one no longer: it keeps what it was given
    by: By
    numbers: Sequence[int]
    pair: Pair | None = None
    few: Few | None = None  # what that pair reads
    scaled: _Scaled | None = None


class _Scaled(NamedTuple):
    number: int  # of the result
    scale: Tensor
    by: By


class CallPairs:
    """Told of each call of a step, and of its end."""

    def __init__(self, allowance: Allowance) -> None:
        self._made: dict[int, _Made] = {}  # by the numbers of results, and of their transposes
        self._turned: set[int] = set()  # the latter
        self._kept: list[_Made] = []  # the last few with a call
        self._tried = Tried(allowance)

    def call(
        self, call: Call, result: Tensor, numbers: Sequence[int], by: By | None
    ) -> tuple[list[Pair], list[Pair]]:
        """Pairs of calls that another way would serve, and those told before that are none: what they make
        in between is read again. ``numbers``: of the call's results.
        """
        found: list[_Made] = []
        withdrawn: list[Pair] = []
        scales = False
        read = call.numbers[:1] if call.name in _SHAPED_AS else call.numbers
        for given in dict.fromkeys(read):
            made = self._made.get(given)
            if made is None:
                continue
            if made.call is not None and is_turn(call, call.given[call.numbers.index(given)], result):
                self._add_turned(given, made, numbers[0])
                continue
            if by is not None and self._add_scaled(given, made, call, result, numbers[0], by):
                scales = True
                continue
            ways = self._ways(made, call, given, result, by)
            if made.pair is None and ways is not None and by is not None:
                made.pair, made.few = self._pair(made, by, ways, call, result), ways.few
                found.append(made)
            elif made.pair is not None and (ways is None or ways.few != made.few):
                withdrawn.append(made.pair)
                made.pair = ways = None
            if ways is None or ways.few is None:
                made.call = None
        if by is not None and result.numel() >= _NUMBERS_AT_LEAST and not scales and may_be_first(call):
            self._keep(_Made(call, by, numbers))
        return _best(found), withdrawn

    def read_whole(self, numbers: Sequence[int]) -> list[Pair]:
        """Pairs told before that are none: a call that gives no tensor has read all of what they make."""
        withdrawn: list[Pair] = []
        for number in numbers:
            made = self._made.get(number)
            if made is not None:
                withdrawn += [made.pair] if made.pair is not None else []
                made.call = made.pair = None
        return withdrawn

    def step(self) -> None:
        """The step has ended: tensors that calls were given are not kept."""
        for made in self._kept:
            made.call = made.scaled = None

    def _add_turned(self, given: int, made: _Made, number: int) -> None:
        self._made[number] = made
        if given not in self._turned:  # turned twice it is as it was
            self._turned.add(number)

    def _add_scaled(self, given: int, made: _Made, call: Call, result: Tensor, number: int, by: By) -> bool:
        """Whether the call multiplies the rows of a product, each by a number."""
        if made.call is None or made.scaled is not None or made.pair is not None or given in self._turned:
            return False
        scale = scale_of(call, call.given[call.numbers.index(given)], result)
        if scale is None:
            return False
        made.scaled = _Scaled(number, scale, by)
        self._made[number] = made
        return True

    def _keep(self, made: _Made) -> None:
        self._made.update(dict.fromkeys(made.numbers, made))
        self._kept = [one for one in self._kept if one.call is not None] + [made]
        if len(self._kept) > _KEPT_AT_MOST:
            self._kept[0].call = None

    def _ways(self, made: _Made, call: Call, given: int, result: Tensor, by: By | None) -> Ways | None:
        if made.call is None or by is None or result.device.type != "cpu" or made.by[1] + by[1] > LONG_NS:
            return None
        which = made.numbers.index(given) if given in made.numbers else 0
        at, turned = call.numbers.index(given), given in self._turned
        scale = made.scaled.scale if made.scaled else None
        if made.scaled and given != made.scaled.number:  # they are read unscaled, too
            return None
        return ways_of(made.call, call, at, result, which=which, turned=turned, scale=scale)

    def _pair(self, made: _Made, by: By, ways: Ways, call: Call, result: Tensor) -> Pair | None:
        def left_by_trial() -> float:
            both = (ways.as_is, ways.given), (ways.other, ways.given)
            return share_left(*both, is_trained=result.requires_grad)

        left = self._tried.left(ways.name, (made.by[0], by[0]), call, left_by_trial)
        between = [made.scaled.by] if made.scaled else []
        return None if left is None else Pair(ways.name, (made.by, *between, by), left)


def _best(found: Sequence[_Made]) -> list[Pair]:
    """Of the pairs of one call the one that saves most: it is made in one way."""
    pairs = [made.pair for made in found if made.pair is not None]
    best = max(pairs, key=lambda pair: pair.saved_ns, default=None)
    for made in found:
        if made.pair is not best:
            made.pair = made.call = None
    return [] if best is None else [best]
