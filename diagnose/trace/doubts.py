"""What a recording evidently leaves out or shows askew, as notes for the report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import among
from diagnose.trace.notes import GPU_UNRECORDED, MERGED, Note

Rows = NDArray[np.int64]

# Enqueues work that runs on the device and must show there. Graph captures record launches without
# work, but the work beside them shows.
ENQUEUES = r"(?:cu|cuda|hip)\w*(?:Launch|Memcpy|Memset)\w*"
# operators that nothing else runs (whether cuDNN is acceptable is asked on a CPU, too)
RUNS_ON_GPU = r"aten::_?(?:cudnn|miopen)_(?!is_acceptable)|nccl:"


def doubts(
    host: pd.DataFrame, device: pd.DataFrame, memory: pd.DataFrame, gpus: int, backend: str
) -> tuple[Note, ...]:
    """A note on GPU work that was launched and not recorded; ``gpus``: how many the file's head lists;
    ``backend``: of torch.distributed, as it says there.
    """
    if len(device):
        return ()
    of_torch = among(host["kind"].array, ("op", "annotation"))
    evidence = {
        "call{s} that launch GPU work": int((named(host, ENQUEUES) & (host["kind"] == "runtime")).sum()),
        "operator{s} that only a GPU runs": int((named(host, RUNS_ON_GPU) & of_torch).sum()),
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
    if "nccl" in backend:
        text = (
            "GPU activity was not recorded: the ranks of this job talk by NCCL, which only GPUs do, but the "
            "trace holds no event of a GPU. All times are the host's. Record with ProfilerActivity.CUDA."
        )
        return (Note(GPU_UNRECORDED, text),)
    if gpus:
        text = "The trace holds no event of the machine's GPU: all times are the host's."
        return (Note("", text),)
    return ()


def merged(host: pd.DataFrame, process: Sequence[Any], step_number: Rows) -> tuple[Note, ...]:
    """A note on a file that several recordings were put into: operators of several processes, or step ranges
    of a thread that have the same number at different times.

    ``process``: of each thread number; ``step_number``: of the ranges that mark steps, -1 for other rows.
    """
    operators = host["tid"].to_numpy()[(host["kind"] == "op").to_numpy()]
    count = len({process[thread] for thread in np.unique(operators).tolist()})
    if count > 1:
        held = f"the work of {count:,} processes"
    elif _numbered_twice(host, step_number):
        held = "several recordings: step numbers come twice"
    else:
        return ()
    text = (
        f"The file holds {held}. Times of one may be laid to another. Analyse each recording alone; give "
        "those of several ranks as a folder."
    )
    return (Note(MERGED, text),)


def _numbered_twice(host: pd.DataFrame, step_number: Rows) -> bool:
    """Whether two step ranges of a thread, of which none is in the other, have the same number."""
    rows = np.flatnonzero(step_number >= 0)
    thread, start, duration = (host[name].to_numpy()[rows] for name in ("tid", "start_ns", "dur_ns"))
    ranges = np.stack([thread, step_number[rows], start, start + duration])
    steps = np.diff(ranges[:, np.lexsort(ranges[2::-1])])  # from each to the next in thread, number, start
    return bool(((steps[:2] == 0).all(axis=0) & (steps[2:] > 0).all(axis=0)).any())


def named(rows: pd.DataFrame, pattern: str) -> NDArray[np.bool_]:
    """Which rows have a name that begins with the pattern (tested once per distinct name)."""
    names, begins = rows["name"].cat, re.compile(pattern).match
    matches = [begins(str(name)) is not None for name in names.categories]
    return np.array([*matches, False])[names.codes.to_numpy()]
