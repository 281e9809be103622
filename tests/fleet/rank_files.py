"""Small recordings of one job's ranks: each step a wait for the batch, a matrix product, and an
all-reduce that ends for all at once.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from diagnose.fleet.tasks import Ranks, reduced
from diagnose.ranks.load import RankSource

STEPS, STEP_US, LATE_US = 5, 10_000, 4_000
ZERO_NS = 1_700_000_000_000_000_000


def write_ranks(folder: Path, count: int, late: int) -> list[Path]:
    """The files, by rank. The late rank waits 5 ms for each batch instead of 1 ms; steps take 10 ms for
    all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _write(folder / f"rank{rank}.json", rank, count, 1_000 + LATE_US * (rank == late))
        for rank in range(count)
    ]


def write_run(folder: Path, count: int, late: int, ranks: range | None = None) -> Path:
    """The same ranks, or some of them, as a run folder: with plain steps of 9 ms, facts, and GPUs of
    80 GB filled with 10 GB a rank + 1.
    """
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"target": "train.py", "ended": "finished", "exit_code": 0}))
    for rank in ranks or range(count):
        own = folder / f"rank{rank}"
        own.mkdir()
        _write(own / "timeline.pt.trace.json", rank, count, 1_000 + LATE_US * (rank == late))
        plain = {"name": "plain", "first_tick": 0, "tick_ns": [9_000_000 * tick for tick in range(21)]}
        timeline = {"name": "timeline", "first_tick": 20, "tick_ns": [0], "trace": "timeline.pt.trace.json"}
        (own / "steps.json").write_text(json.dumps({"clock": "optimizer", "phases": [plain, timeline]}))
        memory = {"peak_allocated_bytes": 10**10 * (rank + 1), "capacity_bytes": 80 * 10**9}
        (own / "facts.json").write_text(json.dumps({"host": "node", "cuda_memory": memory}))
    return folder


def reduced_and_noted(notes: Path, rank: RankSource, **how: Any) -> Ranks:
    """What `reduced` gives; a file ``<name>.<process>`` says who did it."""
    ranks = reduced(rank, **how)
    (notes / f"{rank.name}.{os.getpid()}").touch()
    return ranks


def _write(path: Path, rank: int, count: int, input_us: int) -> Path:
    events = [event for step in range(STEPS) for event in _step(step, step * STEP_US, input_us)]
    info = {"backend": "nccl", "rank": rank, "world_size": count}
    path.write_text(
        json.dumps(
            {
                "schemaVersion": 1,
                "baseTimeNanoseconds": ZERO_NS,
                "distributedInfo": info,
                "traceEvents": events,
            }
        )
    )
    return path


def _step(number: int, begin: int, input_us: int) -> list[dict[str, Any]]:
    come = begin + input_us + 1_500  # at the all-reduce, on the GPU
    launch = begin + input_us + 100
    return [
        _host("user_annotation", f"ProfilerStep#{number}", begin, STEP_US),
        _host(
            "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, input_us
        ),
        *_launched("aten::mm", "sgemm", 7, 10 * number + 1, launch, launch + 50, 1_000),
        *_launched(
            "c10d::allreduce_",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            20,
            10 * number + 2,
            launch + 1_000,
            come,
            begin + 9_000 - come,
        ),
        _host("cuda_runtime", "cudaDeviceSynchronize", begin + input_us + 1_200, 9_010 - input_us - 1_200),
    ]


def _launched(
    op: str, kernel: str, stream: int, correlation: int, at: int, start: int, dur: int
) -> list[dict[str, Any]]:
    """An operator, the launch inside it, and its kernel."""
    own = {"correlation": correlation}
    return [
        _host("cpu_op", op, at, 40),
        _host("cuda_runtime", "cudaLaunchKernel", at + 10, 10, own),
        {
            "ph": "X",
            "cat": "kernel",
            "name": kernel,
            "pid": 0,
            "tid": stream,
            "ts": start,
            "dur": dur,
            "args": own | {"device": 0, "stream": stream},
        },
    ]


def _host(category: str, name: str, ts: int, dur: int, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 42,
        "tid": 42,
        "ts": ts,
        "dur": dur,
        "args": args or {},
    }
