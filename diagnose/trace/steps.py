"""The steps of a recording and the thread that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import among, table
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import as_intervals, total
from diagnose.trace.nesting import nearest
from diagnose.trace.quirks import MODULE_CALL, OPTIMIZER_STEP
from diagnose.trace.repeated import STEP_WORDS, most_time, repeated_ranges
from diagnose.trace.repetition import MIN_REPETITIONS, border_phase, find_repetition
from diagnose.trace.schema import STEPS
from diagnose.trace.whole import whole_recording

Rows = NDArray[np.int64]


class Steps(NamedTuple):
    """The STEPS table, what it was made from (see `Trace.step_source`), the training
    thread, and what was assumed, in words.
    """

    table: pd.DataFrame
    source: str
    training_thread: int
    notes: tuple[str, ...] = ()


class Borders(NamedTuple):
    """Host events that mark steps: row, number of the step or tick (-1 for all other
    rows), whether the end was recorded.
    """

    tick: Rows
    profiler_step: Rows
    finished: NDArray[np.bool_]


class Windows(NamedTuple):
    """Candidate steps: start and end, number, whether they are complete,
    the thread that marks them and notes.
    """

    spans: NDArray[np.int64]
    number: Rows
    complete: NDArray[np.bool_]
    thread: int
    notes: tuple[str, ...] = ()


ROUNDING_NS = 1000  # early profilers wrote whole microseconds
STUBS = 0.05  # of the operators of a thread, fewer than which in all its step ranges are no steps
STUB = 0.1  # of the work of the others, less than which in the last range is the rest after the last step
BROKEN_OFF = 0.1  # of a step's range, by which an operator outlasts it: less changes little of what is said

# Where steps can come from, the best first, and what a report calls it.
SOURCES = {
    "mark": "the recorder's ticks",
    "ProfilerStep": "the ProfilerStep ranges",
    "optimizer": "the optimizer's steps",
    "annotation": "the ranges that the program marks",
    "repetition": "what repeats",
    "whole trace": "the whole recording, which counts as one step",
}

# the windows of others reach over what the GPU did
MARKED_BY_HOST = ("mark", "ProfilerStep", "optimizer", "annotation")


def find_steps(host: pd.DataFrame, device: pd.DataFrame, borders: Borders) -> Steps:
    """Steps from the best source that has a complete one (see `SOURCES`); the
    whole recording as one if none has.
    """
    without: list[str] = []
    for source, found in _candidates(host, device, borders):
        complete = (
            found.complete if source == "repetition" else found.complete & _works(found.spans, host, device)
        )
        if complete.any() or source == "whole trace":
            break
        without.append(SOURCES[source])
    notes = found.notes
    if without:
        notes = (
            f"No step marked by {' or '.join(without)} is complete (its end was not recorded, or no "
            f"operator or launch began in it). Steps are taken from {SOURCES[source]}.",
            *notes,
        )
    columns = {
        "number": found.number,
        "start_ns": found.spans[:, 0],
        "end_ns": found.spans[:, 1],
        "complete": complete,
    }
    return Steps(table(STEPS, columns), source, found.thread, notes)


def _candidates(host: pd.DataFrame, device: pd.DataFrame, borders: Borders) -> Iterator[tuple[str, Windows]]:
    finders: dict[str, Callable[[], Windows | None]] = {
        "mark": lambda: _from_ticks(host, borders),
        "ProfilerStep": lambda: _from_profiler_steps(host, device, borders),
        "optimizer": lambda: _from_optimizer(host),
        "annotation": lambda: _from_ranges(host),
        "repetition": lambda: _from_kernels(host, device) if len(device) else _from_ops(host),
    }
    for source, find in finders.items():
        found = find()
        if found is not None:
            yield source, found
    span, notes = whole_recording(host, device)
    one = np.ones(1, dtype=bool)
    yield "whole trace", Windows(span, np.zeros(1, dtype=np.int64), one, busiest_thread(host), notes)


def busiest_thread(host: pd.DataFrame) -> int:
    """The thread that spends most time in ops outside the autograd engine
    (inside it, where there are no others).
    """
    ops = host[(host["kind"] == "op").to_numpy()]
    for rows in (ops[~ops["backward"]], ops, host):
        threads = np.unique(rows["tid"].to_numpy()).tolist()
        spans = as_intervals(rows["start_ns"].to_numpy(), rows["dur_ns"].to_numpy())
        if threads:
            return max(threads, key=lambda tid: total(spans[(rows["tid"] == tid).to_numpy()]))
    return -1


# ---- from marks


def _from_ticks(host: pd.DataFrame, borders: Borders) -> Windows | None:
    thread, end = host["tid"].to_numpy(), _ends(host)
    ticks = _on_busiest_thread(np.flatnonzero(borders.tick >= 0), thread)
    if len(ticks) < 2:
        return None
    ticks = ticks[np.argsort(end[ticks], kind="stable")]
    return _between(end[ticks], borders.tick[ticks[1:]], int(thread[ticks[0]]))


def _from_profiler_steps(host: pd.DataFrame, device: pd.DataFrame, borders: Borders) -> Windows | None:
    thread, start, end = host["tid"].to_numpy(), host["start_ns"].to_numpy(), _ends(host)
    ranges = _on_busiest_thread(np.flatnonzero(borders.profiler_step >= 0), thread)
    if len(ranges) == 0:
        return None
    ranges = _disjoint(ranges, start, end)
    spans = np.stack([start[ranges], end[ranges]], axis=1)
    ops = (host["kind"] == "op").to_numpy() & (thread == thread[ranges[0]])
    begun = _begun(host, device)
    begun = begun[thread[begun] == thread[ranges[0]]]
    are_stubs = _counts(spans, start[begun]).sum() < STUBS * len(begun)
    finished = borders.finished[ranges] & ~_broken_off(spans, start[ops], end[ops]) & ~are_stubs
    launch = device["launch"].to_numpy()
    finished[-1] &= not _ends_in_a_stub(spans, start[begun], np.sort(start[launch[launch >= 0]]))
    return Windows(spans, borders.profiler_step[ranges], finished, int(thread[ranges[0]]))


def _broken_off(spans: NDArray[np.int64], op_start: Rows, op_end: Rows) -> NDArray[np.bool_]:
    """Which ranges end long before an operator that began in them does: no script ends a range there."""
    inside = np.searchsorted(op_start, spans)
    last = [op_end[first:until].max(initial=-1) for first, until in inside.tolist()]
    start, end = spans.T
    return np.asarray(last > end + np.maximum(ROUNDING_NS, BROKEN_OFF * (end - start)))


def _ends_in_a_stub(spans: NDArray[np.int64], *begun: Rows) -> bool:
    """Whether the last range is far shorter than the others and holds far less of each kind of work: it is
    what was left to do after the last `profiler.step()`. ``begun``: when the work of each kind began.
    """
    counts = [np.diff(spans, axis=1).reshape(-1), *(_counts(spans, starts) for starts in begun)]
    compared = [(count[-1], np.median(count[:-1])) for count in counts if len(spans) > 1 and count[:-1].any()]
    return len(compared) > 1 and all(last < STUB * usual for last, usual in compared)


def _from_optimizer(host: pd.DataFrame) -> Windows | None:
    """Between the ends of the optimizer's steps; where several optimizers take
    turns, between the ends of the turns.
    """
    thread, end = host["tid"].to_numpy(), _ends(host)
    is_step = _has_prefix(host, OPTIMIZER_STEP)
    rows = np.flatnonzero(is_step)
    parent = host["parent"].to_numpy().astype(np.int64)
    rows = _on_busiest_thread(rows[nearest(is_step, parent, parent[rows]) < 0], thread)
    turns = _turns(host, rows)
    if turns is None or len(rows[turns - 1 :: turns]) < MIN_REPETITIONS:
        return None
    ends = np.sort(end[rows])[turns - 1 :: turns]
    return _between(ends, np.arange(1, len(ends)), int(thread[rows[0]]))


def _from_ranges(host: pd.DataFrame) -> Windows | None:
    """From the start of each range to that of the next, the last one to its own end. Of several kinds
    (a server's prefill and decode) only those count whose kind takes most time.
    """
    thread, start, end = busiest_thread(host), host["start_ns"].to_numpy(), _ends(host)
    ranges = repeated_ranges(host, thread)
    if ranges is None or (not STEP_WORDS.search(ranges.name) and _inside_one_call(host, ranges.rows)):
        return None
    spans = np.stack([start[ranges.rows], np.append(start[ranges.rows[1:]], end[ranges.rows[-1]])], axis=1)
    judged, notes = most_time(ranges, spans)
    return Windows(spans, np.arange(1, len(spans) + 1), judged, thread, notes)


def _turns(host: pd.DataFrame, rows: Rows) -> int | None:
    """How many optimizer steps make one turn; None if their order has no period.

    Optimizers of the same class have the same name: the number of ops inside
    tells them apart, where it is steady.
    """
    start, end, thread = host["start_ns"].to_numpy(), _ends(host), host["tid"].to_numpy()
    ops = start[(host["kind"] == "op").to_numpy() & (thread == thread[rows[0]])] if len(rows) else start[:0]
    inside = np.searchsorted(ops, end[rows]) - np.searchsorted(ops, start[rows])
    name = host["name"].cat.codes.to_numpy()[rows].astype(np.int64)
    _, both = np.unique(np.stack([name, inside], axis=1), axis=0, return_inverse=True)
    found = find_repetition(both.reshape(-1)) or find_repetition(name)
    return found.period if found else None


def _between(ends: Rows, number: Rows, thread: int) -> Windows:
    return Windows(np.stack([ends[:-1], ends[1:]], axis=1), number, ends[1:] > ends[:-1], thread)


def _on_busiest_thread(rows: Rows, thread: Rows) -> Rows:
    """The rows of the one thread that has most of them: the same step is sometimes
    marked by several threads or ranks.
    """
    if len(rows) == 0:
        return rows
    threads, counts = np.unique(thread[rows], return_counts=True)
    return rows[thread[rows] == threads[np.argmax(counts)]]


def _disjoint(rows: Rows, start: Rows, end: Rows) -> Rows:
    """Without ranges that begin inside an earlier one (nested or repeated marks)."""
    reach = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end[rows])[:-1]))
    return np.asarray(rows[start[rows] >= reach])


# ---- from repetition


def _from_kernels(host: pd.DataFrame, device: pd.DataFrame) -> Windows | None:
    """Repetitions of the kernel sequence on the stream that computes most, on the device's clock."""
    kernels = device[((device["kind"] == "kernel") & ~device["communication"]).to_numpy()]
    if len(kernels) < MIN_REPETITIONS:
        return None
    busy = kernels.groupby(["device", "stream"], sort=True)["dur_ns"].sum()
    ordinal, stream = busy.index[int(np.argmax(busy.to_numpy()))]
    kernels = kernels[((kernels["device"] == ordinal) & (kernels["stream"] == stream)).to_numpy()]
    return _repetitions(host, kernels, kernels["launch"].to_numpy().astype(np.int64), "kernels")


def _from_ops(host: pd.DataFrame) -> Windows | None:
    """Repetitions of the outermost ops of the busiest thread."""
    is_op = (host["kind"] == "op").to_numpy()
    parent = host["parent"].to_numpy().astype(np.int64)
    outermost = np.flatnonzero(is_op & (host["tid"].to_numpy() == busiest_thread(host)))
    outermost = outermost[nearest(is_op, parent, parent[outermost]) < 0]
    return _repetitions(host, host.iloc[outermost], outermost, "operators")


def _repetitions(host: pd.DataFrame, items: pd.DataFrame, asked_by: Rows, what: str) -> Windows | None:
    """A step from each border of the repetition to the next; ``asked_by`` is the host
    row behind each item, -1 if unknown.

    A stack of equal layers repeats too. But there is something else before and behind it (an embedding, a
    head), so all items have to repeat; and it runs within one call.
    """
    codes = items["name"].cat.codes.to_numpy().astype(np.int64)
    run = find_repetition(codes)
    if run is None or run.length < len(codes):
        return None
    start = items["start_ns"].to_numpy()
    border = np.arange(border_phase(start, items["dur_ns"].to_numpy(), run), len(codes), run.period)
    if _inside_one_call(host, asked_by[border]):
        return None
    note = (
        f"The trace marks no complete step. A pattern of {run.period:,} {what} repeats "
        f"{run.length // run.period:,} times. Each repetition counts as a step here, but may be a layer or a "
        "part of one."
    )
    return _between(start[border], np.arange(1, len(border)), busiest_thread(host))._replace(notes=(note,))


def _inside_one_call(host: pd.DataFrame, rows: Rows) -> bool:
    """Whether one launch, op, annotation, mark or module call holds two of the rows that follow each
    other.
    """
    thread, start, end = host["tid"].to_numpy(), host["start_ns"].to_numpy(), _ends(host)
    known = rows[rows >= 0]
    before, after = known[:-1], known[1:]
    is_call = among(host["kind"].array, ("op", "annotation", "mark")) | _has_prefix(host, MODULE_CALL)
    for tid in np.unique(thread[before]).tolist():
        calls = np.flatnonzero(is_call & (thread == tid))
        reach = np.maximum.accumulate(np.concatenate(([-1], end[calls])))
        pairs = (thread[before] == tid) & (thread[after] == tid)
        earlier = np.searchsorted(start[calls], start[before[pairs]], side="right")
        if (reach[earlier] > start[after[pairs]]).any():
            return True
    return bool((before == after).any())


def _works(windows: NDArray[np.int64], host: pd.DataFrame, device: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether an op or a call that launches begins inside; without any in the trace, a GPU event.

    GPU events alone do not make a step: what begins in the empty last step of a recording was asked for
    before it.
    """
    begun = host["start_ns"].to_numpy()[_begun(host, device)]
    inside = _counts(windows, begun if len(begun) else np.sort(device["start_ns"].to_numpy()))
    return np.asarray((inside > 0) & (windows[:, 1] > windows[:, 0]))


def _begun(host: pd.DataFrame, device: pd.DataFrame) -> Rows:
    """The ops, and the calls that launch work for a GPU: a step may do no more than launch a graph."""
    launch = device["launch"].to_numpy()
    return distinct(np.flatnonzero((host["kind"] == "op").to_numpy()), launch[launch >= 0].astype(np.int64))


def _counts(windows: NDArray[np.int64], starts: Rows) -> Rows:
    """How many of these (sorted) times lie in each window."""
    return np.diff(np.searchsorted(starts, windows), axis=1).reshape(-1)


def _ends(host: pd.DataFrame) -> Rows:
    return host["start_ns"].to_numpy() + host["dur_ns"].to_numpy()


def _has_prefix(host: pd.DataFrame, prefix: str) -> NDArray[np.bool_]:
    """Which rows have a name that begins so (tested once per distinct name)."""
    names = host["name"].cat
    starts = np.array([str(name).startswith(prefix) for name in names.categories] + [False], dtype=bool)
    return np.asarray(starts[names.codes.to_numpy()])
