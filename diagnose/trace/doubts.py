"""What a recording evidently leaves out or shows askew, as notes for the report."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.notes import GPU_UNRECORDED, Note

# Enqueues work that runs on the device and must show there. Graph captures record launches without
# work, but the work beside them shows.
ENQUEUES = r"(?:cu|cuda|hip)\w*(?:Launch|Memcpy|Memset)\w*"
RUNS_ON_GPU = r"aten::_?(?:cudnn|miopen)_|nccl:"  # operators that nothing else runs


def doubts(host: pd.DataFrame, device: pd.DataFrame, memory: pd.DataFrame, gpus: int) -> tuple[Note, ...]:
    """A note on GPU work that was launched and not recorded; ``gpus``: how many the file's head lists."""
    if len(device):
        return ()
    evidence = {
        "call{s} that launch GPU work": int((named(host, ENQUEUES) & (host["kind"] == "runtime")).sum()),
        "operator{s} that only a GPU runs": int((named(host, RUNS_ON_GPU) & (host["kind"] == "op")).sum()),
        "block{s} of GPU memory": int((memory["device"] >= 0).sum()),
    }
    what, count = max(evidence.items(), key=lambda item: item[1])
    if count:
        held = f"{count:,} {what.format(s='s' * (count != 1))}"
        text = (
            f"GPU activity was not recorded: the trace holds {held}, but no event of a GPU. All times are "
            "the host's. Record with ProfilerActivity.CUDA, and with no other GPU profiler running."
        )
        return (Note(GPU_UNRECORDED, text),)
    if gpus:
        text = "The trace holds no event of the machine's GPU: all times are the host's."
        return (Note("", text),)
    return ()


def named(rows: pd.DataFrame, pattern: str) -> NDArray[np.bool_]:
    """Which rows have a name that begins with the pattern (tested once per distinct name)."""
    names = rows["name"].cat
    begins = names.categories.astype(str).str.match(pattern)
    return np.append(begins, False)[names.codes.to_numpy()].astype(bool)
