"""Which fetches feed the steps of a phase: each batch that is fetched is recorded, a validation's as well."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.recording import Recording

_MANY = 2.0  # times the usual number of a step


def fetches_in(recording: Recording, phase_name: str) -> pd.DataFrame:
    """Rows of `Recording.fetches` that began during a phase. Of those in the training process, without the
    ones of steps that fetch many more than the median step, unless that leaves none: an evaluation runs in
    them, with batches of its own.
    """
    phase, fetches = recording.phase(phase_name), recording.fetches
    if phase is None:
        return fetches.iloc[:0]
    tick_ns = np.asarray(phase["tick_ns"])
    start = fetches["start_ns"].to_numpy()
    fetches = fetches[(start >= tick_ns[0]) & (start < tick_ns[-1])]
    here = (fetches["in_worker"] == 0).to_numpy()
    begins = tick_ns[:: recording.ticks_per_step]
    step = np.searchsorted(begins, fetches["start_ns"].to_numpy()[here], "right") - 1
    counts = np.bincount(step, minlength=len(begins))
    usual = max(1.0, float(np.median(counts[: max(1, len(begins) - 1)])))
    feeds = ~here
    feeds[here] = counts[step] <= _MANY * usual
    return fetches[feeds] if feeds.any() else fetches
