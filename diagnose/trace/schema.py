"""The typed tables a trace becomes: every column with its type, unit and meaning.

Times are integer nanoseconds relative to the earliest event of the trace (``Trace.origin_ns`` is that event
on the trace's own clock). Row numbers are positions: ``host.iloc[i]`` is what ``device.launch == i`` points
at. ``-1`` means "none"; text that is absent is the empty string.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from diagnose.trace.notes import Note
from diagnose.trace.own_time import OwnTime


class Column(NamedTuple):
    """One column: its pandas type, its unit and its one-line meaning."""

    dtype: str
    unit: str
    meaning: str


HOST: dict[str, Column] = {
    "start_ns": Column("int64", "ns", "start on the host, relative to the trace's start"),
    "dur_ns": Column("int64", "ns", "duration"),
    "name": Column("category", "", "event name; a mark's name is its kind"),
    "kind": Column("category", "", "op, runtime, annotation, mark, python or overhead"),
    "tid": Column("int64", "", "thread, numbered 0… in order of first appearance (Trace.threads names them)"),
    "correlation": Column("int64", "", "links a runtime call to the GPU events it enqueued; -1 if none"),
    "sequence": Column(
        "int64", "", "autograd sequence number, shared by a forward op and its backward; -1 if none"
    ),
    "backward": Column("bool", "", "the op runs inside the autograd engine"),
    "parent": Column(
        "int32", "row", "innermost op, annotation or mark of the same thread that encloses this; -1 if none"
    ),
    "file": Column("category", "", "source file of the user's line this event belongs to; empty if unknown"),
    "line": Column("int32", "", "that line's number; -1 if unknown"),
    "function": Column("category", "", "function that holds the line"),
    "via": Column(
        "category",
        "",
        "the library's own function that makes a marked read, as torchmetrics.metric:compute; else empty",
    ),
    "shapes": Column("category", "", "input shapes as recorded, JSON text; empty if not recorded"),
    "dtypes": Column("category", "", "input types as recorded, JSON text; empty if not recorded"),
}

DEVICE: dict[str, Column] = {
    "start_ns": Column("int64", "ns", "start on the device, relative to the trace's start"),
    "dur_ns": Column("int64", "ns", "duration"),
    "name": Column("category", "", "kernel name, or the copy's or set's description"),
    "kind": Column("category", "", "kernel, memcpy or memset"),
    "device": Column("int64", "", "device ordinal"),
    "stream": Column("int64", "", "stream number"),
    "correlation": Column("int64", "", "links to the launch; -1 if none"),
    "bytes": Column("int64", "bytes", "bytes copied or set; -1 if unknown"),
    "direction": Column("category", "", "HtoD, DtoH, DtoD, PtoP, HtoH or empty"),
    "host_memory": Column(
        "category", "", "pageable, pinned or unknown for copies between host and device; else empty"
    ),
    "communication": Column("bool", "", "a collective (NCCL, RCCL, …)"),
    "launch": Column("int32", "row", "host row of the runtime call that enqueued it; -1 if none"),
    "op": Column("int32", "row", "host row of the innermost op around that call; -1 if none"),
}

STEPS: dict[str, Column] = {
    "number": Column("int64", "", "the step's number in the trace"),
    "start_ns": Column("int64", "ns", "end of the previous step"),
    "end_ns": Column("int64", "ns", "end of this step"),
    "complete": Column("bool", "", "both ends recorded and an op, a launch or a GPU event inside"),
}

WAITS: dict[str, Column] = {
    "start_ns": Column("int64", "ns", "when the wait was recorded, relative to the trace's start"),
    "dur_ns": Column("int64", "ns", "duration; of a stream wait that of the call, not of the wait"),
    "kind": Column(
        "category",
        "",
        "stream wait (of a stream for an event), event sync, stream sync, context sync (of the host); else "
        "empty",
    ),
    "device": Column("int64", "", "device ordinal"),
    "stream": Column(
        "int64", "", "the stream that waits; of a stream sync the stream the host waits for; else -1"
    ),
    "on_stream": Column(
        "int64", "", "the stream whose work up to the event is waited for; -1 if none or unknown"
    ),
    "record": Column("int32", "row", "host row of the call that recorded the event; -1 if none"),
    "call": Column(
        "int32", "row", "host row of the runtime call that waits or makes the stream wait; -1 if none"
    ),
}

MEMORY: dict[str, Column] = {
    "time_ns": Column(
        "int64", "ns", "when the block was allocated or freed on the host, relative to the trace's start"
    ),
    "device": Column("int64", "", "device ordinal; -1 for the CPU"),
    "change_bytes": Column("int64", "bytes", "size of the block, negative if it was freed; 0 if not known"),
    "allocated_bytes": Column(
        "int64",
        "bytes",
        "allocated afterwards; on the CPU only what was allocated while a profiler ran; -1 if unknown "
        "(torch 1.9)",
    ),
    "reserved_bytes": Column(
        "int64", "bytes", "held by PyTorch's allocator afterwards; 0 on the CPU; -1 if unknown (torch 1.9)"
    ),
}

COLLECTIVES: dict[str, Column] = {
    "kernel": Column("int32", "row", "device row of the collective's kernel"),
    "name": Column("category", "", "what torch calls it: allreduce, _allgather_base, all_to_allv, send …"),
    "group": Column("category", "", "name of the process group; empty if not known"),
    "description": Column(
        "category", "", "what the group is for, as its creator calls it; empty if not known"
    ),
    "ranks": Column(
        "category",
        "",
        "the ranks of the group as text, which torch cuts short for large groups; empty if not known",
    ),
    "size": Column("int64", "", "how many ranks the group has; -1 if not known"),
    "in_bytes": Column("int64", "bytes", "what the rank puts in; -1 if not known"),
}


TABLES: dict[str, tuple[str, dict[str, Column]]] = {
    "host": (
        "What ran on the host: operators, runtime calls, annotations, marks, Python frames, the profiler's "
        "own work.",
        HOST,
    ),
    "device": ("What ran on the GPUs: kernels, copies, sets.", DEVICE),
    "steps": ("The steps of the recording; `Trace.step_source` says what they were made from.", STEPS),
    "waits": (
        "What waited for what on the GPUs. Empty unless the profiler recorded it "
        "(`enable_cuda_sync_events`).",
        WAITS,
    ),
    "memory": (
        "What PyTorch allocated and freed, by time. Empty unless the profiler recorded it "
        "(`profile_memory`).",
        MEMORY,
    ),
    "collectives": (
        "What torch records of NCCL's and RCCL's collectives in their kernels' events. Empty if nothing.",
        COLLECTIVES,
    ),
}


def markdown() -> str:
    """The tables for a reader: docs/tables.md."""
    pages = [
        "# Tables",
        "What `diagnose.trace.reader.read_trace` makes of a trace. Written by `make docs` from "
        "`diagnose/trace/schema.py`.",
        "Times are integer nanoseconds from the earliest event of the trace. A unit of *row* means a "
        "position in the host table, where the meaning names no other. `-1` means none or unknown; text "
        "that is absent is empty.",
    ]
    for name, (meaning, columns) in TABLES.items():
        rows = [
            f"| `{column}` | {dtype} | {unit} | {says} |" for column, (dtype, unit, says) in columns.items()
        ]
        pages.append(
            "\n".join(
                [
                    f"## {name}",
                    "",
                    meaning,
                    "",
                    "| column | type | unit | meaning |",
                    "|---|---|---|---|",
                    *rows,
                ]
            )
        )
    return "\n\n".join(pages) + "\n"


def empty_table(columns: dict[str, Column]) -> pd.DataFrame:
    """A table with the given columns, right types, no rows."""
    return pd.DataFrame({name: pd.Series(dtype=column.dtype) for name, column in columns.items()})


# pid and tid as they stand in the file: numbers or text, None where the event has none
Track = tuple[Any, Any]


@dataclass(frozen=True)
class InFile:
    """How the tables' rows are found again in the file they come from.

    A device's stream that several tracks share is in none.
    """

    first_ns: int = 0  # ts of the first event, from which the tables' times count
    host: dict[int, Track] = field(default_factory=dict)  # by thread number
    device: dict[tuple[int, int], Track] = field(default_factory=dict)  # by device and stream
    pids: frozenset[Any] = frozenset()  # that events have


@dataclass(frozen=True)
class Trace:
    """One recording as tables. ``host`` and ``device`` are sorted by start (ties: longer first)."""

    source: str
    host: pd.DataFrame
    device: pd.DataFrame
    steps: pd.DataFrame
    # "mark" (ours), "ProfilerStep", "optimizer", "annotation" (ranges of the program's own), "repetition" (of
    # kernels or ops, nothing marks them) or "whole trace"
    step_source: str
    training_thread: int  # tid that runs the steps; -1 if the trace has no host events
    threads: dict[int, str] = field(default_factory=dict)
    origin_ns: int = 0  # of the first event, on the trace's clock (baseTimeNanoseconds added where given)
    # top-level metadata: deviceProperties, distributedInfo, versions, flags
    info: dict[str, Any] = field(default_factory=dict)
    # empty unless the profiler was told to record them
    waits: pd.DataFrame = field(default_factory=lambda: empty_table(WAITS))
    memory: pd.DataFrame = field(default_factory=lambda: empty_table(MEMORY))  # the same
    # empty where torch tells nothing of them
    collectives: pd.DataFrame = field(default_factory=lambda: empty_table(COLLECTIVES))
    notes: tuple[str, ...] = ()  # what was repaired, lost or assumed, in words for the report
    doubts: tuple[Note, ...] = ()  # what makes its numbers doubtful
    in_file: InFile = field(default_factory=InFile)
    own_time: OwnTime | None = None  # of the training thread: its times are those of the tables

    @property
    def complete_steps(self) -> np.ndarray:
        """Windows of the complete steps, int64 ns, shape (n, 2)."""
        rows = self.steps[self.steps["complete"]]
        return rows[["start_ns", "end_ns"]].to_numpy(dtype=np.int64).reshape(-1, 2)
