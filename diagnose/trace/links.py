"""Links between host rows that few need, computed on demand."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def forward_rows(host: pd.DataFrame) -> Rows:
    """For each host row the row of the forward op whose gradient it computes; -1 if it is no
    backward op or the forward is not recorded.

    Autograd numbers its nodes. A forward op carries the number that the next node will get, so of several
    with the same number the last one before the backward op made the node. Numbers are counted per thread;
    the trace does not tell which thread's, as long as one runs the forward that does not matter.
    """
    sequence, backward = host["sequence"].to_numpy(), host["backward"].to_numpy()
    forward = np.flatnonzero((sequence >= 0) & ~backward)
    forward = forward[np.lexsort((forward, sequence[forward]))]
    wanted = np.flatnonzero((sequence >= 0) & backward)
    # Keys that sort by number, then by row.
    numbers, key = np.unique(np.concatenate((sequence[forward], sequence[wanted])), return_inverse=True)
    assert len(numbers) * (len(host) + 1) < 2**62
    key = key.reshape(-1) * (len(host) + 1) + np.concatenate((forward, wanted))
    at = np.searchsorted(key[: len(forward)], key[len(forward) :]) - 1
    found = np.append(forward, -1)[at]  # at is -1 where none is before
    result = np.full(len(host), -1, dtype=np.int64)
    same = (found >= 0) & (sequence[found] == sequence[wanted])
    result[wanted[same]] = found[same]
    return result
