"""Small text timelines (synthetic traces) that pass through the real reader: the rules' cases.

A line is ``lane start dur category name [args]``: times in microseconds, args as JSON; the name may
hold spaces. Lanes: ``main`` and other words are host threads, ``gpu`` is a stream of device 0.
Categories are the schema's kinds, and:

- ``step``: a ProfilerStep annotation;
- ``mark``: one of our own marks; the name is ``kind@line`` in train.py.

``"repeat": n, "every": us`` in the args writes the event n times; ``"correlation"`` then counts up.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.job import CollectiveKind, Job, Pattern, RankState
from diagnose.measure.measured import Measured
from diagnose.measure.recording import FETCH_RECORD, Recording
from diagnose.measure.worker_lines import COLUMNS
from diagnose.run.child.places import NOWHERE, Place
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace

LINE = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(.*?)(?:\s+(\{.*\}))?")
HOST_CATEGORIES = {
    "op": "cpu_op",
    "runtime": "cuda_runtime",
    "annotation": "user_annotation",
    "step": "user_annotation",
    "mark": "user_annotation",
    "overhead": "overhead",
    "python": "python_function",
}
ZERO_NS = 1_700_000_000_000_000_000  # on the trace's clock
DEVICE_CATEGORIES = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


def trace_from_text(text: str, info: dict[str, Any] | None = None) -> Trace:
    """The timeline as the reader sees it."""
    document = {
        "schemaVersion": 1,
        "baseTimeNanoseconds": ZERO_NS,
        **(info or {}),
        "traceEvents": events_from_text(text),
    }
    return read_trace(io.BytesIO(json.dumps(document).encode()))


def events_from_text(text: str) -> list[dict[str, Any]]:
    """The timeline's events as they stand in a trace."""
    return [
        event
        for line in text.strip().splitlines()
        if line.strip() and not line.lstrip().startswith("#")
        for event in _events(line)
    ]


def _events(line: str) -> list[dict[str, Any]]:
    lane, start, dur, category, name, text = LINE.fullmatch(line.strip()).groups()  # type: ignore[union-attr]
    args = json.loads(text or "{}")
    repeat, every = args.pop("repeat", 1), args.pop("every", 0)
    return [
        _event(lane, float(start) + i * every, float(dur), category, name, _numbered(args, i))
        for i in range(repeat)
    ]


def _numbered(args: dict[str, Any], i: int) -> dict[str, Any]:
    return {**args, "correlation": args["correlation"] + i} if "correlation" in args else dict(args)


def _event(
    lane: str, start: float, dur: float, category: str, name: str, args: dict[str, Any]
) -> dict[str, Any]:
    if category in DEVICE_CATEGORIES:
        args = {"device": 0, "stream": 7, **args}
        return {
            "ph": "X",
            "cat": DEVICE_CATEGORIES[category],
            "name": name,
            "pid": 0,
            "tid": 7,
            "ts": start,
            "dur": dur,
            "args": args,
        }
    if category == "mark":
        kind, _, number = name.partition("@")
        name = f"diagnose::{kind}|/job/train.py|{number}|main"
    tid = 100 + sum(map(ord, lane))
    return {
        "ph": "X",
        "cat": HOST_CATEGORIES[category],
        "name": name,
        "pid": 100,
        "tid": tid,
        "ts": start,
        "dur": dur,
        "args": args,
    }


def measured_case(case: dict[str, Any]) -> Measured:
    """A case of a ``.cases.toml`` as a recording: timeline, run, facts, clock, plain
    step times, fetch times, calls, memory, job.

    ``calls``: lines ``start dur line callee`` (microseconds); the timeline then is the detail phase
    as well. ``worker_lines``: lines ``count line callee`` in data.py. ``job``: see `job_of_four`.
    """
    plain_ms = case.get("plain_ms", [])
    ticks = np.concatenate([[0], np.cumsum(np.asarray(plain_ms) * 1e6)]).astype(np.int64).tolist()
    phases = [{"name": "plain", "first_tick": 0, "tick_ns": ticks}] if plain_ms else []
    clock = {"phases": phases, **case.get("clock", {})} if phases or "clock" in case else {}
    took_ms = case.get("fetch_ms", [])
    worked_ms = case.get("fetch_cpu_ms", took_ms)
    delays_ms = case.get("fetch_delay_ms", [-1] * len(took_ms))  # unknown
    fetches = np.array(
        [
            (at, *(int(ms * 1e6) for ms in times_ms), 1, 0)
            for at, times_ms in enumerate(zip(took_ms, worked_ms, delays_ms, strict=True))
        ],
        FETCH_RECORD,
    )
    trace = trace_from_text(case["timeline"], case.get("info"))
    recording = Recording(
        Path("case.json"),
        timeline=trace,
        detail=trace if "calls" in case else None,
        run=case.get("run", {}),
        clock=clock,
        facts=case.get("facts", {}),
        memory=case.get("memory", {}),
        calls=_calls(case["calls"]) if "calls" in case else {},
        fetches=pd.DataFrame(fetches),
        worker_lines=_worker_lines(case.get("worker_lines", ""), ticks[-1]),
    )
    return Measured(recording, job_of_four(**case["job"]) if "job" in case else None)


def job_of_four(
    pattern: Pattern,
    late_rank: int | None = None,
    held_up_ms: float = 0.0,
    cause: str | None = None,
    cause_ms: float | None = None,
    collectives: Sequence[dict[str, Any]] = (),
    longest_last_share: float | None = None,
) -> Job:
    """Four ranks, of which the case is the late one, else rank 0; the others wait for that
    one alone, and gain no more than that.

    ``collectives``: kind, size, best_gb_per_s and on_one_host of each.
    """
    waits = [held_up_ms if rank == late_rank else 0.0 for rank in range(4)]
    ranks = tuple(
        RankState(
            rank,
            f"rank{rank}",
            "",
            1.0,
            {},
            0.0,
            0.01,
            waits[rank],
            waits[rank],
            float(rank == late_rank),
            (),
        )
        for rank in range(4)
    )
    causes_ms = {} if cause is None or cause_ms is None else {cause: cause_ms}
    gain_ms = None if cause_ms is None else min(cause_ms, held_up_ms)
    kinds = tuple(
        CollectiveKind(collective.pop("kind"), "0", 1.0, 2**25, 0.1, 0.0, None, **collective)
        for collective in map(dict, collectives)
    )
    return Job(
        world_size=4,
        ranks=ranks,
        missing=(),
        duplicates=(),
        step_count=3,
        matched=6,
        unmatched=0,
        collectives=kinds,
        late_rank=late_rank,
        pattern=pattern,
        held_up_ms=held_up_ms,
        cause=cause,
        cause_ms=cause_ms,
        causes_ms=causes_ms,
        gain_ms=gain_ms,
        longest_last_share=longest_last_share,
    )


def _worker_lines(text: str, until_ns: int) -> pd.DataFrame:
    """Looks at line -1 are at no line of the script's."""
    rows = [[*line.split(maxsplit=2), ""][:3] for line in text.strip().splitlines()]
    found = [
        (until_ns, *(NOWHERE if line == "-1" else Place("/job/data.py", int(line), "_")), calls, int(count))
        for count, line, calls in rows
    ]
    return pd.DataFrame(found, columns=COLUMNS)


def _calls(text: str) -> dict[str, Any]:
    """A detail.calls.json; times count from the timeline's own zero, as those of its events do."""
    rows = [line.split(maxsplit=3) for line in text.strip().splitlines()]
    callees = sorted({callee for *_, callee in rows})
    zero = [0] * len(rows)
    return {
        "files": ["/job/train.py"],
        "functions": ["main"],
        "callees": callees,
        "file": zero,
        "function": zero,
        "tid": zero,
        "line": [int(line) for _, _, line, _ in rows],
        "callee": [callees.index(callee) for *_, callee in rows],
        "start_ns": [ZERO_NS + round(float(start) * 1000) for start, *_ in rows],
        "dur_ns": [round(float(dur) * 1000) for _, dur, *_ in rows],
    }
