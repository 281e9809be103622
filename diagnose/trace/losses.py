"""Steps of which a recording lost a part do not count.

A profiler writes one kind of event after the other, operators first and GPU work last. A file that was cut
holds the operators of all steps, and the GPU work of the first ones: the others would look like steps of a
slow host.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.doubts import ENQUEUES
from diagnose.trace.events import Lane
from diagnose.trace.notes import CUT_OFF, DAMAGED, Note
from diagnose.trace.schema import STEPS
from diagnose.trace.steps import Steps

Rows = NDArray[np.int64]

CAPTURE = r"^(cuda|hip)StreamBeginCapture", r"^(cuda|hip)StreamEndCapture"
# of the launches of a step: at the very end of a recording the profiler loses one or two
LOST_LAUNCHES = 0.02
LOST_EVENTS = 0.01  # of all events, from which the numbers are doubtful
WHOLE_TRACE = "whole trace"


class Losses(NamedTuple):
    """What is known of a file's losses: its end is missing, so many events were left out;
    a GPU may have been at work, as the head of the file says or does not deny.
    """

    cut_off: bool
    left_out: int
    may_have_gpu: bool


class Tables(NamedTuple):
    """The HOST and the DEVICE table with the lanes they were made of, whose rows are theirs."""

    host: pd.DataFrame
    device: pd.DataFrame
    host_lane: Lane
    device_lane: Lane


def whole_steps(steps: Steps, tables: Tables, losses: Losses) -> tuple[Steps, tuple[Note, ...]]:
    """The steps, complete only where nothing of them is lost, and what makes the numbers doubtful."""
    complete = steps.table["complete"].to_numpy()
    lost = complete & _lost(steps, tables, losses)
    kept = steps._replace(table=steps.table.assign(complete=complete & ~lost).astype(_dtypes()))
    count = len(tables.host) + len(tables.device) + losses.left_out
    notes = []
    if losses.cut_off or lost.any():
        notes.append(Note(CUT_OFF, _cut_sentence(int(complete.sum()), int(lost.sum()), losses.cut_off)))
    if losses.left_out > LOST_EVENTS * count:
        share = f"{losses.left_out / count:.0%}".replace("%", " %")
        notes.append(
            Note(DAMAGED, f"{share} of the events are damaged and were left out. Record or copy it again.")
        )
    return kept, tuple(notes)


def _dtypes() -> dict[str, str]:
    return {name: column.dtype for name, column in STEPS.items()}


def _cut_sentence(complete: int, lost: int, cut_off: bool) -> str:
    seen = "The file has no end" if cut_off else "GPU work at the end was not recorded"
    if lost == complete:
        return f"{seen}, and no step in it is whole. Record or copy it again."
    steps = f"{lost:,} of {complete:,} steps {'is' if lost == 1 else 'are'} not whole and left out"
    return f"{seen}: {steps if lost else 'the steps in it seem whole'}. Record or copy it again."


def _lost(steps: Steps, tables: Tables, losses: Losses) -> NDArray[np.bool_]:
    """Which steps lost a part."""
    start, end = steps.table["start_ns"].to_numpy(), steps.table["end_ns"].to_numpy()
    if losses.cut_off:
        return np.asarray((end > _reach_ns(tables, steps, losses)) | (steps.source == WHOLE_TRACE))
    if steps.source == WHOLE_TRACE or not len(tables.device):
        return np.zeros(len(start), dtype=bool)
    return _without_launches(start, end, tables) | _with_launches_lost(start, end, tables)


# ---- a file without its end


def _reach_ns(tables: Tables, steps: Steps, losses: Losses) -> int:
    """Before this moment nothing is missing of a file that was cut."""
    host, device = tables.host, tables.device
    if not len(device) and losses.may_have_gpu:
        return -1
    kind, start = host["kind"], host["start_ns"].to_numpy()
    of_thread = (host["tid"] == steps.training_thread).to_numpy()
    written = np.argsort(tables.host_lane.in_file)
    groups = [(kind == "op").to_numpy() & of_thread, (kind == "python").to_numpy() & of_thread]
    groups.append((kind == "runtime").to_numpy())
    starts = [start[written][group[written]] for group in groups]
    launch = device["launch"].to_numpy().astype(np.int64)[np.argsort(tables.device_lane.in_file)]
    starts.append(start[launch[launch >= 0]])
    starts.append(device["start_ns"].to_numpy()[np.argsort(tables.device_lane.in_file)])
    return min((_written_until(one) for one in starts if len(one)), default=-1)


def _written_until(start_ns: Rows) -> int:
    """All that began before this moment was written, by the events of a kind in the file's order:
    the latest, less what earlier ones were written behind later ones.
    """
    latest = np.maximum.accumulate(start_ns)
    return int(latest[-1] - (latest - start_ns).max())


# ---- a file with its end


def _launches(host: pd.DataFrame) -> Rows:
    """The calls that enqueue work for a GPU, other than those that a graph captures."""
    start = host["start_ns"].to_numpy()
    calls = np.flatnonzero(
        _matches(host, ENQUEUES.pattern)
        & (host["kind"] == "runtime").to_numpy()
        & (host["correlation"] >= 0).to_numpy()
    )
    begins, ends = (start[_matches(host, pattern)] for pattern in CAPTURE)
    captures = np.searchsorted(begins, start[calls], "right") - np.searchsorted(ends, start[calls], "right")
    return calls[captures <= 0]


def _matches(host: pd.DataFrame, pattern: str) -> NDArray[np.bool_]:
    names = host["name"].cat
    return np.append(names.categories.str.match(pattern), False)[names.codes.to_numpy()].astype(bool)


def _without_launches(start: Rows, end: Rows, tables: Tables) -> NDArray[np.bool_]:
    """The last steps, if nothing was launched in them, and the one that holds the last launch."""
    launch = tables.device["launch"].to_numpy()
    launched = tables.host["start_ns"].to_numpy()[launch[launch >= 0]]
    if not len(launched) or not (start > launched.max()).any():
        return np.zeros(len(start), dtype=bool)
    return np.asarray(end > launched.max())


def _with_launches_lost(start: Rows, end: Rows, tables: Tables) -> NDArray[np.bool_]:
    """Steps with launches at the end of the recording whose GPU work is missing."""
    calls = _launches(tables.host)
    recorded = np.isin(calls, tables.device["launch"].to_numpy())
    if not recorded.any():
        return np.zeros(len(start), dtype=bool)
    began = tables.host["start_ns"].to_numpy()[calls]
    trailing = began[np.flatnonzero(recorded)[-1] + 1 :]
    lost = np.searchsorted(trailing, end) - np.searchsorted(trailing, start)
    launched = np.searchsorted(began, end) - np.searchsorted(began, start)
    return np.asarray(lost > LOST_LAUNCHES * launched)
