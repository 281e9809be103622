"""Steps of which a recording lost a part do not count.

A profiler writes one kind of event after the other, operators first and GPU work last. A file that was cut
holds the operators of all steps, and the GPU work of the first ones: the others would look like steps of a
slow host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.doubts import ENQUEUES, named
from diagnose.trace.events import Lane
from diagnose.trace.notes import CUT_OFF, DAMAGED, Note
from diagnose.trace.steps import MARKED_BY_HOST, Steps

Rows = NDArray[np.int64]

BEGIN_CAPTURE, END_CAPTURE = r"(?:cuda|hip)StreamBeginCapture", r"(?:cuda|hip)StreamEndCapture"
# of the launches of a step: at the very end of a recording the profiler loses one or two
LOST_LAUNCHES = 0.02
LOST_EVENTS = 0.01  # of all events, from which the numbers are doubtful
# of the operators and of the time, at the end, without GPU work: of 130 whole recordings none has over 3 %
SILENT_SHARE = 0.2
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
    kept = steps._replace(table=steps.table.assign(complete=complete & ~lost))
    return kept, (*_cut_note(complete, lost, tables, losses), *_damage_note(tables, losses))


def _cut_note(
    complete: NDArray[np.bool_], lost: NDArray[np.bool_], tables: Tables, losses: Losses
) -> Iterator[Note]:
    seen = "The file has no end" if losses.cut_off else "A part of the GPU work was not recorded"
    count, lost_count = int(complete.sum()), int(lost.sum())
    if lost_count and lost_count == count:
        found = f"{seen}, and no step in it is whole."
    elif lost_count:
        found = f"{seen}: {lost_count:,} of {count:,} steps lost a part and do not count."
    elif losses.cut_off:
        found = f"{seen}: a part of what follows may be missing."
    elif (silent := _silent_share(tables)) > SILENT_SHARE:
        found = f"No GPU work was recorded for the last {_percent(silent)} of the operators."
    else:
        return
    yield Note(CUT_OFF, f"{found} Copy or record it again.")


def _damage_note(tables: Tables, losses: Losses) -> Iterator[Note]:
    share = losses.left_out / (len(tables.host) + len(tables.device) + losses.left_out)
    if share > LOST_EVENTS:
        yield Note(
            DAMAGED,
            f"{_percent(share)} of the events are damaged and were left out. Copy or record it again.",
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _lost(steps: Steps, tables: Tables, losses: Losses) -> NDArray[np.bool_]:
    """Which steps lost a part."""
    start, end = steps.table["start_ns"].to_numpy(), steps.table["end_ns"].to_numpy()
    silent = _silent(start, end, steps.table["complete"].to_numpy(), tables)
    if losses.cut_off:
        behind = end > _reach_ns(tables, steps, losses)
        return np.asarray(behind | silent | (steps.source == WHOLE_TRACE))
    if steps.source not in MARKED_BY_HOST or not len(tables.device):
        return np.zeros(len(start), dtype=bool)
    return silent | _with_launches_lost(start, end, tables)


def _silent(start: Rows, end: Rows, complete: NDArray[np.bool_], tables: Tables) -> NDArray[np.bool_]:
    """The first and the last steps, if nothing was launched in them and something in others; with those
    whose first or last launch borders on them, of which a part may be lost as well.
    """
    launched = _launch_starts(tables)
    if not len(launched):
        return np.zeros(len(start), dtype=bool)
    first, last = launched.min(), launched.max()
    before, behind = complete & (end <= first), complete & (start > last)
    return np.asarray((before.any() & (start < first)) | (behind.any() & (end > last)))


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
        named(host, ENQUEUES) & (host["kind"] == "runtime").to_numpy() & (host["correlation"] >= 0).to_numpy()
    )
    begins, ends = (start[named(host, pattern)] for pattern in (BEGIN_CAPTURE, END_CAPTURE))
    captures = np.searchsorted(begins, start[calls], "right") - np.searchsorted(ends, start[calls], "right")
    return calls[captures <= 0]


def _launch_starts(tables: Tables) -> Rows:
    """When work for a GPU was launched; empty where that was not recorded."""
    launch = tables.device["launch"].to_numpy()
    calls = np.concatenate((launch[launch >= 0], _launches(tables.host)))
    return np.asarray(tables.host["start_ns"].to_numpy()[calls])


def _silent_share(tables: Tables) -> float:
    """The share of the operators, or of the time if that is less, after the last launch and all GPU work.

    A graph's capture launches without GPU work.
    """
    host, device = tables.host, tables.device
    ops = host[(host["kind"] == "op").to_numpy()]
    launched = _launch_starts(tables)
    if not len(device) or not len(ops) or not len(launched) or named(host, BEGIN_CAPTURE).any():
        return 0.0
    start, end_ns = ops["start_ns"].to_numpy(), int((ops["start_ns"] + ops["dur_ns"]).max())
    silent_ns = max(int((device["start_ns"] + device["dur_ns"]).max()), int(launched.max()))
    return float(min((start > silent_ns).mean(), 1 - silent_ns / max(end_ns, 1)))


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
