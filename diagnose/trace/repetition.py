"""The period of a sequence that repeats: how steps are found where nothing marks them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

MIN_REPETITIONS = 3
MIN_COVERAGE = 0.5
# A multiple of the period repeats as well, and sometimes a few items longer by chance.
NEARLY_AS_LONG = 0.95
_CANDIDATES = 64


class Repetition(NamedTuple):
    """The longest run of items that repeat with a period:

    ``codes[i] == codes[i + period]`` in ``[first, first + length)``.
    """

    period: int
    first: int
    length: int


def find_repetition(codes: NDArray[np.integer]) -> Repetition | None:
    """The shortest period of the longest run of repeating items; None if fewer than three
    repetitions or half of the items repeat.
    """
    runs = [_longest_run(codes, period) for period in _likely_periods(codes)]
    runs = [run for run in runs if run.length >= max(MIN_REPETITIONS * run.period, MIN_COVERAGE * len(codes))]
    if not runs:
        return None
    enough = NEARLY_AS_LONG * max(run.length for run in runs)
    return min((run for run in runs if run.length >= enough), key=lambda run: run.period)


def _likely_periods(codes: NDArray[np.integer]) -> list[int]:
    """The lags at which most items equal the item one lag later.

    Every distinct item gets a random phase on the unit circle; the autocorrelation of the phases,
    which a Fourier transform gives for all lags at once, then is the number of equal pairs plus
    noise of the order of its square root.
    """
    count = len(codes)
    longest = count // MIN_REPETITIONS
    if longest < 1:
        return []
    phases = np.exp(2j * np.pi * np.random.default_rng(0).random(int(codes.max()) + 1))[codes]
    spectrum = np.fft.fft(phases, 2 * count)
    equal_pairs = np.fft.ifft(np.abs(spectrum) ** 2).real[1 : longest + 1]
    return sorted((np.argsort(-equal_pairs, kind="stable")[:_CANDIDATES] + 1).tolist())


def _longest_run(codes: NDArray[np.integer], period: int) -> Repetition:
    differ = np.flatnonzero(codes[:-period] != codes[period:])
    borders = np.concatenate(([-1], differ, [len(codes) - period]))
    longest = int(np.argmax(np.diff(borders)))
    equal = int(borders[longest + 1] - borders[longest]) - 1
    return Repetition(period, int(borders[longest]) + 1, equal + period if equal else 0)


def border_phase(start: Rows, dur: Rows, run: Repetition) -> int:
    """The place in the period, 0 to period - 1 from the start of the run, before
    which the median idle gap is longest.
    """
    rows = slice(run.first, run.first + run.length // run.period * run.period)
    reach = np.maximum.accumulate((start + dur)[rows])
    gap = start[rows][1:] - reach[:-1]
    # nothing is known before the first
    by_repetition = np.concatenate(([gap[run.period - 1]], gap)).reshape(-1, run.period)
    return int(np.argmax(np.median(by_repetition, axis=0)))
