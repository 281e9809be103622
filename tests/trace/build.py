"""Tiny Chrome traces for tests: events as they stand in the file, times in µs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace

Json = dict[str, Any]


def event(
    name: str, ts: Any, dur: Any = 1, cat: str = "cpu_op", tid: Any = 1, pid: Any = 1, **args: Any
) -> Json:
    """A complete event; underscores in argument names become blanks (``External_id=3``)."""
    return {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
        "args": {key.replace("_", " "): value for key, value in args.items()},
    }  # fmt: skip


def kernel(
    name: str,
    ts: Any,
    dur: Any,
    correlation: int,
    stream: int = 7,
    device: int = 0,
    cat: str = "kernel",
    **args: Any,
) -> Json:
    """An event of the GPU."""
    return event(
        name,
        ts,
        dur,
        cat,
        tid=stream,
        pid=device,
        correlation=correlation,
        stream=stream,
        device=device,
        **args,
    )


def launch(ts: Any, dur: Any, correlation: int, name: str = "cudaLaunchKernel", tid: Any = 1) -> Json:
    """A runtime call."""
    return event(name, ts, dur, "cuda_runtime", tid=tid, correlation=correlation)


def block(
    ts: Any, change: Any, allocated: Any = -1, reserved: Any = -1, device: Any = 0, device_type: Any = 1
) -> Json:
    """A block of memory that is allocated, or freed where ``change`` is negative; totals
    of -1 are left out, as torch 1.9 did.
    """
    totals = {"Total Allocated": allocated, "Total Reserved": reserved}
    args = {
        "Device Type": device_type,
        "Device Id": device,
        "Bytes": change,
        **{name: n for name, n in totals.items() if n != -1},
    }
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "args": args,
    }


def encoded(*events: Json, **top: Any) -> bytes:
    """The bytes of a trace file with these events."""
    return json.dumps({"schemaVersion": 1, **top, "traceEvents": list(events)}).encode()


def read(*events: Json, calls: Path | None = None, **top: Any) -> Trace:
    """The tables of a trace with these events."""
    return read_trace(io.BytesIO(encoded(*events, **top)), calls)


def parents(trace: Trace) -> dict[str, str]:
    """The name of each host event's parent, by the event's name; empty if it has none."""
    names = trace.host["name"].tolist()
    return {
        name: names[row] if row >= 0 else "" for name, row in zip(names, trace.host["parent"], strict=True)
    }


def row(trace: Trace, name: str, table: str = "host") -> Any:
    """The only row of that name."""
    frame = getattr(trace, table)
    found = frame[frame["name"] == name]
    assert len(found) == 1, f"{len(found)} rows named {name}"
    return found.iloc[0]
