"""How much is held after each of a row of events, from what begins with one and ends with another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def held_bytes(
    sizes: Sequence[int] | np.ndarray,
    begins: Sequence[int] | np.ndarray,
    ends: Sequence[int] | np.ndarray,
    events: int,
) -> np.ndarray:
    """Bytes before the first of so many events, and after each, shape (`events` + 1,).

    `begins` and `ends` are numbers of events: −1 begins before the first, and ends never, as does what ends
    after the last.
    """
    starts, stops = np.asarray(begins, np.int64), np.asarray(ends, np.int64)
    stops = np.where((stops < 0) | (stops > events), events, stops)
    change = np.zeros(events + 2, np.int64)
    np.add.at(change, starts + 1, np.asarray(sizes, np.int64))
    np.add.at(change, stops + 1, -np.asarray(sizes, np.int64))
    return np.cumsum(change)[: events + 1]
