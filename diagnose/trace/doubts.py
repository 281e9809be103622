"""What a recording evidently leaves out or shows askew, as notes for the report."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from diagnose.trace.notes import GPU_UNRECORDED, Note

# Enqueues work that runs on the device and must show there. Graph captures record launches without
# work, but the work beside them shows.
ENQUEUES = re.compile(r"^(cu|cuda|hip)\w*(Launch|Memcpy|Memset)\w*")


def doubts(host: pd.DataFrame, device: pd.DataFrame) -> tuple[Note, ...]:
    """A note on GPU work that was launched and not recorded."""
    if len(device):
        return ()
    names = host["name"].cat
    enqueues = np.array([bool(ENQUEUES.match(str(name))) for name in names.categories] + [False], dtype=bool)
    count = int((enqueues[names.codes.to_numpy()] & (host["kind"] == "runtime").to_numpy()).sum())
    if not count:
        return ()
    text = (
        f"GPU activity was not recorded: the trace holds {count:,} call{'s' * (count != 1)} that launch GPU "
        "work, but no event of a GPU. All times are the host's. Record with ProfilerActivity.CUDA, and with "
        "no other GPU profiler running."
    )
    return (Note(GPU_UNRECORDED, text),)
