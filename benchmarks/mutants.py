"""Mutants of traces: real and synthetic ones with events changed, bytes damaged, both;
reproducible from a seed and a number.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import ROOT

MAX_EVENTS = 150  # of a trace that mutants are made from
Json = dict[str, Any]
Random = random.Random


def corpus() -> list[Json]:
    """Small traces as decoded JSON: stretches of recordings, and synthetic ones."""
    recorded = [
        *sorted((ROOT / "sample_traces").rglob("*.trace.json.gz")),
        *sorted((ROOT.parent / "shared" / "traces").glob("*.json.gz")),
    ]
    small = [path for path in recorded if path.stat().st_size < 50_000]
    return [*map(_stretch, small), _synthetic(kernel_us=3000), _synthetic(kernel_us=300)]


def _stretch(path: Path) -> Json:
    """The first events of a recording, in order of time, so that steps,
    launches and kernels stay together.
    """
    document = json.loads(gzip.decompress(path.read_bytes()))
    document = document if isinstance(document, dict) else {"traceEvents": document}
    events = document["traceEvents"]
    timed = sorted(
        (e for e in events if isinstance(e.get("ts"), (int, float)) and e.get("cat") != "Trace"),
        key=lambda e: e["ts"],
    )
    return {**document, "traceEvents": [e for e in events if e.get("ph") == "M"][:8] + timed[:MAX_EVENTS]}


def _synthetic(kernel_us: float) -> Json:
    """Three steps of 1 ms on a thread, a GPU, two streams, with loader, optimizer,
    marks, sync, collective and copies.

    The host is ahead of a GPU whose kernels take longer, and does not launch any in the last step.
    """
    ahead = kernel_us > 1000
    events: list[Json] = []

    def add(cat: str, name: str, ts: float, dur: float, tid: int = 1, pid: int = 1, **args: Any) -> None:
        events.append(
            {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args}
        )

    for step in range(3):
        at, n = 1000.0 * step, 10 * step
        matrices: Json = {
            "Sequence number": step,
            "Input Dims": [[8, 8], [8, 8]],
            "Input type": ["float", "float"],
        }
        add("user_annotation", f"ProfilerStep#{step}", at, 1000)
        add("user_annotation", f"diagnose::tick|{step}", at + 999, 0.5)
        add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 100)
        add("user_annotation", "diagnose::forward|/job/train.py|12|main", at + 100, 300)
        add("cpu_op", "aten::mm", at + 110, 50, **matrices)
        if not (ahead and step == 2):
            add("cuda_runtime", "cudaLaunchKernel", at + 120, 5, correlation=n + 1)
            begin = max(at, step * kernel_us) + 140
            add("kernel", "sgemm_128x64_nn", begin, kernel_us, 7, 0, device=0, stream=7, correlation=n + 1)
        add("cuda_runtime", "cudaMemcpyAsync", at + 200, 20, correlation=n + 2)
        add(
            "gpu_memcpy",
            "Memcpy HtoD (Pageable -> Device)",
            at + 450,
            80,
            8,
            0,
            device=0,
            stream=8,
            correlation=n + 2,
            bytes=4096,
        )
        add(
            "kernel",
            "ncclDevKernel_AllReduce_Sum_f32",
            at + 500,
            100,
            20,
            0,
            device=0,
            stream=20,
            correlation=n + 3,
        )
        if not ahead:
            add("cuda_runtime", "cudaStreamSynchronize", at + 480, 130)
        add("user_annotation", "Optimizer.step#SGD.step", at + 700, 100)
        add("python_function", "train.py(12): main", at, 900)
        add("overhead", "Activity Buffer Request", at + 850, 10)
    return {
        "schemaVersion": 1,
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "deviceProperties": [],
        "traceEvents": events,
    }


# ---- mutations

TEXTS = [
    *(
        "",
        " ",
        "|",
        "`",
        "``` | `",
        "<script>alert(1)</script>",
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07",
        "a\nb\r\nc",
        "\u202egnp.exe",
    ),
    *(
        "\0",
        "\ud800",
        "'",
        '"',
        "\\",
        "%s%n",
        "{0}",
        "{x.__class__}",
        "=cmd()",
        "../../etc/passwd",
        "[bold]markup[/bold]",
        "]" * 2000,
        "é" * 500,
    ),
    *(
        "ProfilerStep#1",
        "ProfilerStep#999999999999999999",
        "ProfilerStep#-1",
        "diagnose::",
        "diagnose::tick|",
        "diagnose::tick|99999999999",
    ),
    *(
        "diagnose::item|a|b|c|d|5|f",
        "diagnose::next||0|",
        "Optimizer.step#",
        "Optimizer.step#|`<b>",
        "nn.Module: ",
        "x.py(99999999999): f",
    ),
    *(
        "cudaLaunchKernel",
        "cudaStreamSynchronize",
        "aten::item",
        "Memcpy HtoD (Pageable -> Device)",
        "ncclKernel",
        "stream 7",
        "NaN",
        "1e999",
    ),
]
NUMBERS: list[Any] = [
    *(
        0,
        -1,
        1,
        0.1,
        -0.0,
        1e-300,
        1e300,
        2**31,
        -(2**31),
        2**53 + 1,
        2**63 - 1,
        2**63,
        -(2**63),
        -(2**63) - 1,
        2**64,
        10**30,
        10**400,
    ),
    *(
        1e18,
        -1e18,
        3e15,
        2.9e15,
        -2.9e15,
        9.3e15,
        1e-9,
        1234567890123456.789,
        float("nan"),
        float("inf"),
        -float("inf"),
    ),
]
OTHERS: list[Any] = [
    None,
    True,
    False,
    [],
    {},
    [[]],
    {"a": {"b": {}}},
    [1, "2", None],
    {"": ""},
    "12",
    "-1",
    "0x10",
    "1e3",
    "1704161511420306.491",
]
FIELDS = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "s", "bp"]
ARGUMENTS = [
    *(
        "correlation",
        "External id",
        "external id",
        "Sequence number",
        "Input Dims",
        "Input dims",
        "Input type",
        "Call stack",
        "device",
        "stream",
    ),
    *(
        "bytes",
        "size",
        "direction",
        "kind",
        "Collective name",
        "finished",
        "name",
        "Python id",
        "wait_on_stream",
        "labels",
    ),
]
TOP = [
    "schemaVersion",
    "deviceProperties",
    "computeProperties",
    "distributedInfo",
    "baseTimeNanoseconds",
    "displayTimeUnit",
    "traceEvents",
]
CATEGORIES = [
    *(
        "cpu_op",
        "user_annotation",
        "cuda_runtime",
        "cuda_driver",
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "python_function",
        "overhead",
    ),
    *(
        "Operator",
        "Kernel",
        "Runtime",
        "mtia_ccp_events",
        "gpu_user_annotation",
        "cuda_sync",
        "Trace",
        "fwdbwd",
        "",
    ),
]


def _value(rng: Random) -> Any:
    roll = rng.random()
    if roll < 0.01:
        return "A" * 2**20
    if roll < 0.02:
        return _nested(rng.choice([50, 500, 5000]))
    return _small_value(rng)


def _small_value(rng: Random) -> Any:
    return rng.choice(rng.choice([TEXTS, NUMBERS, NUMBERS, OTHERS, CATEGORIES]))


def _nested(depth: int) -> Any:
    """Deep nesting, as text that `_encoded` puts in unquoted: json cannot write it."""
    return f"@RAW@{'[' * depth}{']' * depth}@RAW@"


def _set_field(events: list[Json], rng: Random) -> None:
    rng.choice(events)[rng.choice(FIELDS)] = _value(rng)


def _set_argument(events: list[Json], rng: Random) -> None:
    event = rng.choice(events)
    if isinstance(event.get("args"), dict):
        event["args"] = {**event["args"], rng.choice(ARGUMENTS): _value(rng)}


def _set_everywhere(events: list[Json], rng: Random) -> None:
    field, value = rng.choice(FIELDS), _small_value(rng)
    for event in events:
        if rng.random() < 0.5:
            event[field] = value


def _drop_field(events: list[Json], rng: Random) -> None:
    rng.choice(events).pop(rng.choice(FIELDS), None)


def _repeat_event(events: list[Json], rng: Random) -> None:
    event = rng.choice(events)
    events.extend({**event} for _ in range(rng.choice([1, 2, 30])))


def _drop_events(events: list[Json], rng: Random) -> None:
    share = rng.random()
    events[:] = [event for event in events if rng.random() < share] or events[:1]


def _drop_category(events: list[Json], rng: Random) -> None:
    category = rng.choice(events).get("cat")
    events[:] = [event for event in events if event.get("cat") != category] or events[:1]


def _shuffle(events: list[Json], rng: Random) -> None:
    rng.shuffle(events)


def _swap_field(events: list[Json], rng: Random) -> None:
    field, one, other = rng.choice(FIELDS), rng.choice(events), rng.choice(events)
    one[field], other[field] = other.get(field), one.get(field)


def _is_time(value: Any) -> bool:
    """A number that one can go on computing with."""
    return isinstance(value, (int, float)) and abs(value) < 1e300


def _scale_times(events: list[Json], rng: Random) -> None:
    field, factor = rng.choice(["ts", "dur"]), rng.choice([0, -1, 1e-6, 1e3, 1e9, 1e15])
    for event in events:
        if _is_time(event.get(field)):
            event[field] = event[field] * factor


def _jitter_times(events: list[Json], rng: Random) -> None:
    for event in events:
        if _is_time(event.get("ts")):
            event["ts"] = event["ts"] + rng.uniform(-100, 100)


def _nest(events: list[Json], rng: Random) -> None:
    """Many ranges one inside the other, on one thread."""
    start = next((event["ts"] for event in events if _is_time(event.get("ts"))), 0)
    depth = rng.choice([10, 300, 3000])
    for level in range(depth):
        events.append(
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::nest",
                "ts": start + level,
                "dur": 2 * (depth - level),
                "pid": 1,
                "tid": 1,
            }
        )


EVENT_MUTATIONS: list[Callable[[list[Json], Random], None]] = [
    *(
        _set_field,
        _set_field,
        _set_field,
        _set_argument,
        _set_argument,
        _set_everywhere,
        _drop_field,
        _repeat_event,
    ),
    *(_drop_events, _drop_category, _shuffle, _swap_field, _scale_times, _jitter_times, _nest),
]


def _mutated(document: Json, rng: Random) -> bytes:
    """The trace with some events changed, as bytes."""
    events = [{**event} for event in document["traceEvents"]]
    changed = {**document, "traceEvents": events}
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        rng.choice(EVENT_MUTATIONS)(events, rng)
    if rng.random() < 0.15:
        changed[rng.choice(TOP)] = _value(rng)
    return _encoded(events if rng.random() < 0.05 else changed)


def _encoded(document: Any) -> bytes:
    text = json.dumps(document, ensure_ascii=True).replace('"@RAW@', "").replace('@RAW@"', "")
    return text.encode()


TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b'"',
    b":",
    b"\\",
    b"\0",
    b"\xff",
    b"NaN",
    b"1e999",
    b"null",
    b'"ts": -1,',
    b'"traceEvents": [',
    b"]}",
    b"\xed\xa0\x80",
]


def _damaged(data: bytes, rng: Random) -> bytes:
    """The bytes with a few places overwritten, cut out, doubled or filled in."""
    result = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at, length = rng.randrange(len(result) + 1), rng.choice([1, 1, 2, 20, 1000])
        action = rng.randrange(5)
        if action == 0:
            result[at : at + length] = rng.randbytes(len(result[at : at + length]))
        elif action == 1:
            del result[at : at + length]
        elif action == 2:
            result[at:at] = result[at : at + length]
        elif action == 3:
            result[at:at] = rng.choice(TOKENS) * rng.choice([1, 1, 1, 500])
        elif rng.random() < 0.3:
            del result[at:]
    return bytes(result)


def mutant(traces: Sequence[Json], seed: int, number: int) -> bytes:
    """The bytes of one mutant."""
    rng = random.Random(f"{seed}/{number}")
    data = _mutated(rng.choice(traces), rng)
    if rng.random() < 0.4:
        data = _damaged(data, rng)
    if rng.random() < 0.1:
        data = gzip.compress(data, 1)
        if rng.random() < 0.7:
            data = _damaged(data, rng)
    return data
