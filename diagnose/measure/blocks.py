"""Columns of millions of events, in blocks: what is worked out of them takes several times their memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

AT_ONCE = 2**18  # events


def blocks(count: int) -> Iterator[slice]:
    """The positions below ``count``, some at a time."""
    return (slice(begin, begin + AT_ONCE) for begin in range(0, count, AT_ONCE))


def sum_of_each(numbers: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """The weights of each number below ``count``; -1 is none."""
    sums = np.zeros(count + 1)
    for block in blocks(len(numbers)):
        found = np.bincount(numbers[block].astype(np.intp) + 1, weights[block])
        sums[: len(found)] += found
    return sums[1:]
