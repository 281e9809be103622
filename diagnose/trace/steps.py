"""The steps of a recording and the thread that runs them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import table
from diagnose.trace.intervals import as_intervals, total
from diagnose.trace.schema import STEPS

Rows = NDArray[np.int64]


class Steps(NamedTuple):
    """The STEPS table, what it was made from and the training thread."""

    table: pd.DataFrame
    source: str
    training_thread: int


class Borders(NamedTuple):
    """Host events that mark steps: row, number of the step or tick (-1 for all other rows), whether the end was recorded."""

    tick: Rows
    profiler_step: Rows
    finished: NDArray[np.bool_]


def find_steps(host: pd.DataFrame, device: pd.DataFrame, borders: Borders) -> Steps:
    """Steps from the recorder's ticks, else from ProfilerStep ranges, else the whole recording as one."""
    thread = host["tid"].to_numpy()
    start = host["start_ns"].to_numpy()
    end = start + host["dur_ns"].to_numpy()
    ticks = _on_busiest_thread(np.flatnonzero(borders.tick >= 0), thread)
    ranges = _on_busiest_thread(np.flatnonzero(borders.profiler_step >= 0), thread)
    if len(ticks) >= 2:
        ticks = ticks[np.argsort(end[ticks], kind="stable")]
        windows, number = np.stack([end[ticks[:-1]], end[ticks[1:]]], axis=1), borders.tick[ticks[1:]]
        closed, source, training = np.ones(len(number), dtype=bool), "mark", int(thread[ticks[0]])
    elif len(ranges):
        ranges = _disjoint(ranges, start, end)
        windows, number = np.stack([start[ranges], end[ranges]], axis=1), borders.profiler_step[ranges]
        closed, source, training = borders.finished[ranges], "ProfilerStep", int(thread[ranges[0]])
    else:
        windows, number = _whole(host, device), np.zeros(1, dtype=np.int64)
        closed, source, training = np.ones(1, dtype=bool), "whole trace", busiest_thread(host)
    complete = closed & _works(windows, host, device)
    columns = {"number": number, "start_ns": windows[:, 0], "end_ns": windows[:, 1], "complete": complete}
    return Steps(table(STEPS, columns), source, training)


def busiest_thread(host: pd.DataFrame) -> int:
    """The thread that spends most time in ops outside the autograd engine (inside it, where there are no others)."""
    ops = host[(host["kind"] == "op").to_numpy()]
    for rows in (ops[~ops["backward"]], ops, host):
        threads = np.unique(rows["tid"].to_numpy()).tolist()
        spans = as_intervals(rows["start_ns"].to_numpy(), rows["dur_ns"].to_numpy())
        if threads:
            return max(threads, key=lambda tid: total(spans[(rows["tid"] == tid).to_numpy()]))
    return -1


def _on_busiest_thread(rows: Rows, thread: Rows) -> Rows:
    """The rows of the one thread that has most of them: the same step is sometimes marked by several threads or ranks."""
    if len(rows) == 0:
        return rows
    threads, counts = np.unique(thread[rows], return_counts=True)
    return rows[thread[rows] == threads[np.argmax(counts)]]


def _disjoint(rows: Rows, start: Rows, end: Rows) -> Rows:
    """Without ranges that begin inside an earlier one (nested or repeated marks)."""
    reach = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end[rows])[:-1]))
    return np.asarray(rows[start[rows] >= reach])


def _whole(host: pd.DataFrame, device: pd.DataFrame) -> NDArray[np.int64]:
    """From the first to the last op, runtime call, annotation or GPU event; Python frames and overhead do not count."""
    rows = host[host["kind"].isin(["op", "runtime", "annotation", "mark"]).to_numpy()]
    start = np.concatenate((rows["start_ns"], device["start_ns"]))
    end = np.concatenate((rows["start_ns"] + rows["dur_ns"], device["start_ns"] + device["dur_ns"]))
    return np.array([[start.min(), end.max()]] if len(start) else [[0, 0]], dtype=np.int64)


def _works(windows: NDArray[np.int64], host: pd.DataFrame, device: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether an op begins inside; without any op in the trace, whether a GPU event does.

    GPU events alone do not make a step: what begins in the empty last step of a recording was asked for before it.
    """
    ops = host["start_ns"].to_numpy()[(host["kind"] == "op").to_numpy()]
    begins = np.sort(ops if len(ops) else device["start_ns"].to_numpy())
    first, last = np.searchsorted(begins, windows[:, 0]), np.searchsorted(begins, windows[:, 1])
    return np.asarray((last > first) & (windows[:, 1] > windows[:, 0]))
