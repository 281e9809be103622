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

from diagnose.trace.distinct import distinct
from diagnose.trace.doubts import ENQUEUES, named
from diagnose.trace.events import Lane
from diagnose.trace.nesting import nearest
from diagnose.trace.notes import CUT_OFF, DAMAGED, Note
from diagnose.trace.steps import MARKED_BY_HOST, Steps

Rows = NDArray[np.int64]

BEGIN_CAPTURE, END_CAPTURE = r"(?:cuda|hip)StreamBeginCapture", r"(?:cuda|hip)StreamEndCapture"
# of the launches of a step: at the very end of a recording the profiler loses one or two
LOST_LAUNCHES = 0.02
USUALLY = 0.9  # of the calls of an operator that launches GPU work; fewer, and some of them may be the CPU's
LEAST_OPERATORS = 10  # without their launches: fewer may have run on the CPU
# of all events, from which the numbers are doubtful, and from which no step can be judged
LOST_EVENTS, TOO_MANY_LOST = 0.01, 0.05
# of the operators and of the time, at the end, without GPU work: of 130 whole recordings none has over 3 %
SILENT_SHARE = 0.2
WHOLE_TRACE = "whole trace"


class Losses(NamedTuple):
    """What is known of a file's losses: its end is missing, so many events were left out;
    a GPU may have been at work, as the head of the file says or does not deny; several recordings were put
    into it, so that what launched the work of one may be taken for another's.
    """

    cut_off: bool
    left_out: int
    may_have_gpu: bool
    merged: bool = False


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
    judged = _damaged_share(tables, losses) <= TOO_MANY_LOST
    kept = steps._replace(table=steps.table.assign(complete=complete & ~lost & judged))
    return kept, (*_damage_note(tables, losses), *_cut_note(complete, lost, tables, losses))


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
    share = _damaged_share(tables, losses)
    if share > LOST_EVENTS:
        judged = ", so that no step can be judged" if share > TOO_MANY_LOST else " and were left out"
        yield Note(DAMAGED, f"{_percent(share)} of the events are damaged{judged}. Copy or record it again.")


def _damaged_share(tables: Tables, losses: Losses) -> float:
    return losses.left_out / (len(tables.host) + len(tables.device) + losses.left_out)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _lost(steps: Steps, tables: Tables, losses: Losses) -> NDArray[np.bool_]:
    """Which steps lost a part."""
    start, end = steps.table["start_ns"].to_numpy(), steps.table["end_ns"].to_numpy()
    lost = _silent(start, end, steps.table["complete"].to_numpy(), tables)
    if losses.cut_off:
        lost |= (end > _reach_ns(tables, steps, losses)) | (steps.source == WHOLE_TRACE)
    elif steps.source == "repetition" or not len(tables.device) or losses.merged:
        return np.zeros(len(start), dtype=bool)
    else:
        lost |= _with_launches_lost(start, end, tables, steps.source in MARKED_BY_HOST)
    if lost.any():
        lost |= _with_less_gpu_work(start, end, tables)
    return lost | _is_in_disorder(lost, steps.table["complete"].to_numpy())


def _is_in_disorder(lost: NDArray[np.bool_], complete: NDArray[np.bool_]) -> bool:
    """Whether steps lost a part both before and after a whole one, so that any may have lost one: GPU work is
    written a buffer at a time, and the buffers of several threads in no order.
    """
    whole, broken = np.flatnonzero(complete & ~lost), np.flatnonzero(complete & lost)
    return bool(len(whole) and len(broken) and broken[0] < whole[-1] and broken[-1] > whole[0])


def _with_less_gpu_work(start: Rows, end: Rows, tables: Tables) -> NDArray[np.bool_]:
    """Steps that launched less of the recorded GPU work than another with the same operators, in a recording
    that lost others; and those where a good part of the launches has none.
    """
    host, calls = tables.host, _launches(tables.host)
    ops, begin = host[(host["kind"] == "op").to_numpy()], host["start_ns"].to_numpy()
    name, moment = ops["name"].cat.codes.to_numpy(), ops["start_ns"].to_numpy()
    launch = tables.device["launch"].to_numpy().astype(np.int64)
    work = _inside(start, end, np.sort(begin[launch[launch >= 0]]))
    calls = calls[~_captured(host, calls)]
    unrecorded = _inside(start, end, begin[calls[~np.isin(calls, launch)]])
    same: dict[bytes, list[int]] = {}
    for step, (first, until) in enumerate(np.searchsorted(moment, np.stack([start, end], axis=1)).tolist()):
        same.setdefault(np.bincount(name[first:until]).tobytes(), []).append(step)
    most = np.zeros(len(start))
    for group in same.values():
        most[group] = work[group].max()
    less = work < (1 - LOST_LAUNCHES) * most
    return np.asarray(less | (unrecorded > SILENT_SHARE * _inside(start, end, begin[calls])))


def _silent(start: Rows, end: Rows, complete: NDArray[np.bool_], tables: Tables) -> NDArray[np.bool_]:
    """Steps at either end of the recording whose operators, unlike the same ones elsewhere, launch nothing.

    Where only a part of a step does so, a large one is needed: some compute on the CPU in the end. In the
    beginning that tells nothing: compilers call operators to try them out.
    """
    ops, launches = _operators_that_launch(tables)
    lost = np.zeros(len(start), dtype=bool)
    if not launches.any():
        return lost
    op_start = tables.host["start_ns"].to_numpy()[ops]
    first, last = op_start[launches][[0, -1]]
    before, behind = (
        _inside(start, end, op_start[outside]) for outside in (op_start < first, op_start > last)
    )
    all_of_them = _inside(start, end, op_start)
    if before.sum() >= LEAST_OPERATORS and (complete & (end <= first) & (before > 0)).any():
        lost |= before > LOST_LAUNCHES * all_of_them
    if behind.sum() >= LEAST_OPERATORS:
        lost |= behind > SILENT_SHARE * all_of_them
        if (complete & (start > last) & (behind > 0)).any():
            lost |= behind > LOST_LAUNCHES * all_of_them
    return lost


def _operators_that_launch(tables: Tables) -> tuple[Rows, NDArray[np.bool_]]:
    """The calls of operators which, between the first launch and the last, launch GPU work nearly each time
    they are called; and which of these calls do.
    """
    host = tables.host
    is_op, parent = (host["kind"] == "op").to_numpy(), host["parent"].to_numpy().astype(np.int64)
    launching = distinct(nearest(is_op, parent, parent[_launch_rows(tables)]))
    launching = launching[launching >= 0]
    ops, name = np.flatnonzero(is_op), host["name"].cat.codes.to_numpy()
    launches = np.isin(ops, launching)
    if not len(launching):
        return ops, launches
    amid = ops[(ops >= launching[0]) & (ops <= launching[-1])]
    calls, with_launch = (np.bincount(name[rows], minlength=name.max() + 1) for rows in (amid, launching))
    usual = (with_launch > 0) & (with_launch >= USUALLY * calls)
    return ops[usual[name[ops]]], launches[usual[name[ops]]]


def _inside(start: Rows, end: Rows, moments: Rows) -> Rows:
    """How many of the moments, which are sorted, are in each step."""
    return np.searchsorted(moments, end) - np.searchsorted(moments, start)


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
    """The calls that enqueue work for a GPU."""
    is_call = (host["kind"] == "runtime").to_numpy() & (host["correlation"] >= 0).to_numpy()
    return np.flatnonzero(is_call & named(host, ENQUEUES))


def _captured(host: pd.DataFrame, calls: Rows) -> NDArray[np.bool_]:
    """Which calls are captured by a graph: they run when that is launched."""
    start = host["start_ns"].to_numpy()
    begins, ends = (start[named(host, pattern)] for pattern in (BEGIN_CAPTURE, END_CAPTURE))
    captures = np.searchsorted(begins, start[calls], "right") - np.searchsorted(ends, start[calls], "right")
    return np.asarray(captures > 0)


def _launch_rows(tables: Tables) -> Rows:
    """Host rows that launched work for a GPU, recorded or not; empty where launches were not recorded."""
    launch = tables.device["launch"].to_numpy().astype(np.int64)
    return distinct(launch[launch >= 0], _launches(tables.host))


def _silent_share(tables: Tables) -> float:
    """The share of the operators, or of the time if that is less, after the last launch and all GPU work.

    A graph's capture launches without GPU work.
    """
    host, device = tables.host, tables.device
    is_op = (host["kind"] == "op").to_numpy()
    start, dur = (host[column].to_numpy()[is_op] for column in ("start_ns", "dur_ns"))
    launches = _launch_rows(tables)
    if not len(device) or not len(start) or not len(launches) or named(host, BEGIN_CAPTURE).any():
        return 0.0
    end_ns = int((start + dur).max())
    done_ns = int((device["start_ns"] + device["dur_ns"]).max())
    silent_ns = max(done_ns, int(host["start_ns"].iloc[launches[-1]]))
    return float(min((start > silent_ns).mean(), 1 - silent_ns / max(end_ns, 1)))


def _with_launches_lost(start: Rows, end: Rows, tables: Tables, marked: bool) -> NDArray[np.bool_]:
    """Steps with launches at the end of the recording whose GPU work is missing.

    A whole recording as one step, which nothing marks, often ends before the GPU does: more may be missing.
    """
    calls = _launches(tables.host)
    calls = calls[~_captured(tables.host, calls)]
    recorded = np.isin(calls, tables.device["launch"].to_numpy())
    began = tables.host["start_ns"].to_numpy()[calls]
    trailing = began[np.flatnonzero(recorded)[-1] + 1 :] if recorded.any() else began[:0]
    if not marked and len(trailing) < LEAST_OPERATORS:
        return np.zeros(len(start), dtype=bool)
    least = LOST_LAUNCHES if marked else SILENT_SHARE
    return np.asarray(_inside(start, end, trailing) > least * _inside(start, end, began))
