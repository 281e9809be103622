"""A recorded trace in the training thread's own time: as if it had always
had a core when it was ready to run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.processor import PARTS, Samples, samples_within
from diagnose.measure.typical import DELAYED_SHARE
from diagnose.trace.own_time import OwnTime
from diagnose.trace.schema import Trace

NEVER_NS = 1 << 62
# a stretch lost to delays altogether keeps one part in so many, so that what follows one another stays in
# order
FASTEST = 1000.0


def in_own_time(trace: Trace, table: pd.DataFrame, phase: dict[str, Any], *, alone: bool) -> Trace:
    """The trace of a phase with its `own_time`, and on that clock where delays are worth it.

    ``alone``: the process waits for no other rank, so that what it does not lose is not lost at all. What a
    GPU does goes by no thread's clock; with one in the trace the times stay as recorded.
    """
    tick_ns = phase["tick_ns"]
    samples = samples_within(table, tick_ns[0], tick_ns[-1])
    offset_ns = clock_offset_ns(trace, phase)
    if samples is None or offset_ns is None:
        return trace
    offset_ns = min([offset_ns, *_offsets_of_parts(trace, samples)])
    own_time = _own_time(samples, offset_ns, moves=alone and not len(trace.device))
    return _moved(trace, own_time)


def fetches_in_own_time(fetches: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The batches that the training process fetched itself, as long as they take without
    delays; those of workers as they are.
    """
    samples = samples_within(table, 0, NEVER_NS)
    if samples is None or not len(fetches):
        return fetches
    own_time = _own_time(samples, 0, moves=True)
    begin_ns, dur_ns = (
        fetches["start_ns"].to_numpy().astype(np.int64),
        fetches["dur_ns"].to_numpy().astype(np.int64),
    )
    own_ns = own_time.own(begin_ns + dur_ns) - own_time.own(begin_ns)
    in_worker = fetches["in_worker"].to_numpy() > 0
    return fetches.assign(
        dur_ns=np.where(in_worker, dur_ns, own_ns).astype(np.uint64),
        delay_ns=fetches["delay_ns"].where(in_worker, 0.0),
    )


def clock_offset_ns(trace: Trace, phase: dict[str, Any]) -> int | None:
    """What to add to a moment of the host's clock (`perf_counter_ns`) to have it on the trace's as
    recorded; None where ticks do not tell.

    A tick is noted in steps.json and marked in the trace, some microseconds later; the
    smallest difference was disturbed least.
    """
    if trace.step_source != "mark":
        return None
    tick_ns, before = (
        np.asarray(phase["tick_ns"], np.int64),
        trace.steps["number"].to_numpy() - 1 - phase["first_tick"],
    )
    noted = (before >= 0) & (before < len(tick_ns))  # a step begins with the tick before its own
    if not noted.any():
        return None
    start_ns = trace.steps["start_ns"].to_numpy()[noted]
    recorded_ns = trace.own_time.recorded(start_ns) if trace.own_time else start_ns
    return int(np.min(recorded_ns - tick_ns[before[noted]]))


def _offsets_of_parts(trace: Trace, samples: Samples) -> list[int]:
    """The same by the marks of the parts, each of which begins right after a
    sample; none of those that do not tally.
    """
    marks = trace.host[
        (trace.host["kind"] == "mark").to_numpy() & (trace.host["tid"] == trace.training_thread).to_numpy()
    ]
    begin_ns, name = marks["start_ns"].to_numpy(), marks["name"].to_numpy()
    found = []
    for border, part in PARTS.items():
        noted_ns, marked_ns = samples.ns[samples.border == border], begin_ns[name == part]
        if len(noted_ns) == len(marked_ns) > 0:
            found.append(int(np.min(marked_ns - noted_ns)))
    return found


def _own_time(samples: Samples, offset_ns: int, *, moves: bool) -> OwnTime:
    recorded_ns = np.stack([samples.ns, samples.end_ns], axis=1).reshape(-1)[:-1] + offset_ns
    took_ns = np.diff(recorded_ns).astype(float)
    lengths_ns, slept_ns = np.zeros(len(took_ns)), np.zeros(len(took_ns))  # a sample, the stretch after it, …
    lengths_ns[1::2], slept_ns[1::2] = samples.stretches.lengths_ns, np.nan_to_num(samples.stretches.slept_ns)
    lengths_ns = np.maximum(lengths_ns, took_ns / FASTEST)
    if moves and lengths_ns.sum() <= (1 - DELAYED_SHARE) * took_ns.sum():
        took_ns = lengths_ns
    slept_ns = np.minimum(slept_ns, took_ns)
    return OwnTime(recorded_ns, recorded_ns[0] + _summed(took_ns), _summed(slept_ns))


def _summed(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(lengths)])


def _moved(trace: Trace, own_time: OwnTime) -> Trace:
    moved = replace(trace, own_time=own_time)
    if (own_time.own_ns == own_time.recorded_ns).all():
        return moved
    host = _with_times(trace.host, own_time, "start_ns")
    steps = trace.steps.assign(
        **{name: own_time.own(trace.steps[name].to_numpy()) for name in ("start_ns", "end_ns")}
    )
    memory = trace.memory.assign(time_ns=own_time.own(trace.memory["time_ns"].to_numpy()))
    return replace(moved, host=host, steps=steps, memory=memory)


def _with_times(table: pd.DataFrame, own_time: OwnTime, start: str) -> pd.DataFrame:
    begin_ns = table[start].to_numpy()
    own_ns, own_end_ns = own_time.own(begin_ns), own_time.own(begin_ns + table["dur_ns"].to_numpy())
    return table.assign(**{start: own_ns, "dur_ns": own_end_ns - own_ns})
