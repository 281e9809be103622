"""Tells when steps have become slower or faster for good, from one number for each short while of a run.

A cumulative sum (CUSUM; E. S. Page, *Continuous inspection schemes*, 1954) of how far each number's logarithm
is from that of the begin, in standard deviations, less an allowance. Each number counts with some deviations
at most, so that a few wild ones are no change. Standard library only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

LEAST = 0.08  # of the level: a smaller change is none
_ALLOWANCE = (0.5, 1.5)  # deviations: half of the least change, within these
_FLOOR = 0.01  # as steady as this no machine is
_BATCH = 5  # numbers in a row, whose common drift counts as spread, too
# of a normal distribution: standard deviation over the median absolute deviation, and the distance of its
# outer tenths over that
_SIGMA, _TENTHS = 1.4826, 2.5631
_SIGMA_OF_MEDIANS = 1.25  # of a few numbers, over that of their mean
_SUSPICIOUS = 0.25  # of the limit: with a larger sum a change may have begun
_DOUBT = 2.0  # standard errors of the level, and of the spread, that are given away
_SIDE = 6  # values before and after a change within those that are to say what a level is


def middle_mean(values: Sequence[float]) -> float:
    """The mean without the tenth at either end: of two kinds of values it lies between them."""
    ordered, left_out = sorted(values), len(values) // 10
    return fmean(ordered[left_out : len(ordered) - left_out])


@dataclass(frozen=True)
class Tuning:
    """``reference``: that many numbers at the begin of a level say what it is, and ``at_least`` are waited
    for. ``limit``: of the cumulative sum, in deviations, and ``most``: that one number counts with.
    ``centre``: what a level is of its numbers.

    Independent numbers pass the limit falsely once in about ``(exp(2ab) - 2ab - 1) / 2a²`` of them, with the
    allowance ``a`` and ``b = limit + 1.166`` (D. Siegmund, *Sequential Analysis*, 1985).
    """

    reference: int
    at_least: int
    limit: float
    most: float
    centre: Callable[[Sequence[float]], float]


# of the typical step of a second: falsely once in about a million
TYPICAL = Tuning(reference=60, at_least=20, limit=12.0, most=3.0, centre=middle_mean)
# of the average step of twenty seconds, in which seldom work counts: falsely once in some ten thousand
AVERAGE = Tuning(reference=12, at_least=6, limit=8.0, most=6.0, centre=fmean)


@dataclass(frozen=True)
class Change:
    """``where``: what `Changes.add` was given with the first value of the new level; ``before``, ``after``:
    the levels, in the values' unit.
    """

    where: Any
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """Of the new level to the old one."""
        return self.after / self.before


_Value = tuple[float, Any]  # its logarithm, and where


class Changes:
    """`add` each value as it comes. What is kept does not grow with a level that stays."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._begin([])

    def _begin(self, values: list[_Value]) -> None:
        """A level begins with these."""
        self._reference = values[: self._tuning.reference]
        self._doubtful: list[_Value] = []  # may be of the level, or of the next one
        self._level = self._spread = 0.0
        self._sums = [0.0, 0.0]  # upwards, downwards
        self._runs: list[list[_Value]] = [[], []]  # since each sum was nothing
        self._know_level()

    def _know_level(self) -> None:
        if len(self._reference) >= self._tuning.at_least:
            values = [value for value, _ in self._reference]
            self._level, self._spread = self._tuning.centre(values), spread(values)

    def add(self, value: float, where: Any) -> Change | None:
        """The change that this value makes certain; None where there is none. Values must be positive."""
        logarithm = math.log(value)
        change = self._summed(logarithm, where) if self._spread else None
        if change is None and len(self._reference) < self._tuning.reference:
            self._doubtful.append((logarithm, where))
            if max(self._sums) < _SUSPICIOUS * self._tuning.limit:
                self._reference += self._doubtful
                self._doubtful = []
                self._know_level()
                change = self._divided()
        return change

    def _divided(self) -> Change | None:
        """A change within what was to say what the level is."""
        if not self._spread:
            return None
        values = [value for value, _ in self._reference]
        at = division(values, _SIDE)
        if at is None:
            return None
        before, after = self._tuning.centre(values[:at]), self._tuning.centre(values[at:])
        change = Change(self._reference[at][1], math.exp(before), math.exp(after))
        self._begin(self._reference[at:])
        return change

    def _summed(self, value: float, where: Any) -> Change | None:
        score = (value - self._level) / self._spread
        allowance = min(max(math.log1p(LEAST) / 2 / self._spread, _ALLOWANCE[0]), _ALLOWANCE[1])
        allowance += _DOUBT / math.sqrt(len(self._reference))
        for side, away in enumerate((score, -score)):
            total = self._sums[side] = max(0.0, self._sums[side] + min(away, self._tuning.most) - allowance)
            if total == 0.0:
                self._runs[side].clear()
                continue
            self._runs[side].append((value, where))
            if total > self._tuning.limit:
                return self._changed(side)
        return None

    def _changed(self, side: int) -> Change | None:
        """Whether the values of that sum are far enough from the level, beyond what that is unsure by."""
        values = [value for value, _ in self._runs[side]]
        now = self._tuning.centre(values)
        error = self._spread / math.sqrt(len(self._reference))
        if abs(now - self._level) < math.log1p(LEAST) + _DOUBT * error:
            self._sums[side] = 0.0
            self._runs[side].clear()
            return None
        change = Change(self._runs[side][0][1], math.exp(self._level), math.exp(now))
        self._begin(self._runs[side])
        return change


def division(values: Sequence[float], side: int) -> int | None:
    """Where logarithms are of two levels, each with that many at least: nine of ten of the later ones are
    above, or below, nine of ten of the earlier ones, and their medians by `LEAST` apart. None where not.
    """
    count = len(values)
    if count < 2 * side:
        return None
    ordered = sorted(values)
    lowest, highest = ordered[count // 20], ordered[-1 - count // 20]
    sums = [0.0, *itertools.accumulate(min(max(value, lowest), highest) for value in values)]

    def apart(at: int) -> float:
        """Of the squares' sum, what two means explain more than one."""
        difference = sums[at] / at - (sums[-1] - sums[at]) / (count - at)
        return difference * difference * at * (count - at)

    at = max(range(side, count - side + 1), key=apart)
    lower, upper = sorted((sorted(values[:at]), sorted(values[at:])), key=median)
    far = median(upper) - median(lower) >= math.log1p(LEAST)
    return at if far and upper[len(upper) // 10] > lower[-1 - len(lower) // 10] else None


def spread(values: Sequence[float]) -> float:
    """Standard deviation of numbers around their level, by quantiles; that of batches of them where
    neighbours move together.
    """
    ordered, tenth = sorted(values), len(values) // 10
    apart = max(_SIGMA * _deviation(values), (ordered[-1 - tenth] - ordered[tenth]) / _TENTHS)
    batches = [median(values[at : at + _BATCH]) for at in range(0, len(values) - _BATCH + 1, _BATCH)]
    if len(batches) >= _BATCH:
        apart = max(apart, _SIGMA * _deviation(batches) * math.sqrt(_BATCH) / _SIGMA_OF_MEDIANS)
    return max(apart * (1 + _DOUBT / math.sqrt(2 * len(values))), _FLOOR)


def _deviation(values: Sequence[float]) -> float:
    """The median distance from the median."""
    middle = median(values)
    return median(abs(value - middle) for value in values)
