"""Which calls of a line are tried: one of each kind, for a line in a loop may make many that differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from statistics import fmean
from time import perf_counter_ns
from typing import Any

from ..values import Call

_KINDS_AT_MOST, _ENOUGH_NS = 4, 500_000_000  # of a line's calls: kinds that are tried, and what trials take
_OF_A_LOOK_NS = 20_000_000_000  # what all trials take together: somebody waits

Trial = Callable[[], float | None]


class Allowance:
    """Time for trials. The one that uses it up is the last."""

    def __init__(self, ns: int = _OF_A_LOOK_NS) -> None:
        self._left_ns = ns

    def share_left(self, trial: Trial) -> float | None:
        """As the trial has it, None where there is no time for it."""
        if self._left_ns <= 0:
            return None
        began_ns = perf_counter_ns()
        try:
            return trial()
        finally:
            self._left_ns -= perf_counter_ns() - began_ns


class Tried:
    def __init__(self, allowance: Allowance | None = None) -> None:
        self._allowance = allowance or Allowance()
        self._left: defaultdict[tuple[str, Hashable], dict[Hashable, float]] = defaultdict(dict)
        self._spent_ns: defaultdict[tuple[str, Hashable], int] = defaultdict(int)

    def left(self, way: str, place: Hashable, call: Call, left_by_trial: Trial) -> float | None:
        """The share of the call's time that is left another way, by the trial of one of its kind; where
        enough kinds were tried, on average of these. None where nothing can be said. ``place``: the line, or
        those of a pair of calls.
        """
        key = way, place
        by_kind, kind = self._left[key], _kind(call)
        if kind in by_kind:
            return by_kind[kind]
        if len(by_kind) >= _KINDS_AT_MOST or self._spent_ns[key] >= _ENOUGH_NS:
            return fmean(by_kind.values()) if by_kind else None
        began_ns = perf_counter_ns()
        left = self._allowance.share_left(left_by_trial)
        self._spent_ns[key] += perf_counter_ns() - began_ns
        if left is not None:  # else the next one may be: another program can make any call long
            by_kind[kind] = left
        return left


def _kind(call: Call) -> Hashable:
    """Calls of one kind are given as much, in the same way."""
    shapes = tuple((tensor.shape, tensor.dtype, tensor.requires_grad) for tensor in call.given)
    return call.name, shapes, repr([_plain(value) for value in (call.arguments, call.options)])


def _plain(value: Any) -> Any:
    """Without tensors and other objects, which no two calls may have in common."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else type(value)
