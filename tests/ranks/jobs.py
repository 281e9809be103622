"""Synthetic ranks of one job, with times that can be worked out by hand.

A step takes 100 ms. It begins with 5 ms of waiting for the loader, then a kernel computes until 40 ms, then an all-reduce begins,
which ends at 80 ms on all ranks. A rank that is late waits longer for the loader, and everything up to the all-reduce moves back by that.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diagnose.measure.measured import Measured
from diagnose.ranks.summary import RankSummary, summary_of
from tests.timelines import ZERO_NS, events_from_text, measured_case

STEP_US = 100_000
KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def timeline(steps: Sequence[int], late_ms: Mapping[int, float]) -> str:
    """``late_ms``: by step."""
    return "\n".join(_step(number, round(late_ms.get(number, 0) * 1000)) for number in steps)


def _step(number: int, late: int) -> str:
    zero, first, second = number * STEP_US, 2 * number + 1, 2 * number + 2
    op = zero + late + 5_300
    return f"""
        main {zero} {STEP_US} step ProfilerStep#{number}
        main {zero} {5_000 + late} op enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
        main {zero + late + 5_000} 100 runtime cudaLaunchKernel {{"correlation": {first}}}
        gpu {zero + late + 5_100} 34900 kernel gemm {{"correlation": {first}}}
        main {op - 50} 300 op c10d::allreduce_
        main {op} 200 op record_param_comms {{"Input Dims": [[262144], []], "Input type": ["float", "Scalar"]}}
        main {op + 50} 100 runtime cudaLaunchKernel {{"correlation": {second}}}
        gpu {zero + late + 40_000} {40_000 - late} kernel {KERNEL} {{"correlation": {second}, "stream": 20}}"""


def info(rank: int, world_size: int, clock_ms: float = 0) -> dict[str, Any]:
    """The trace's head. ``clock_ms``: how far the rank's clock is ahead."""
    distributed = {"backend": "nccl", "rank": rank, "world_size": world_size}
    return {"distributedInfo": distributed, "baseTimeNanoseconds": ZERO_NS + round(clock_ms * 1e6)}


def measured(
    rank: int, *, late_ms: float | Mapping[int, float] = 0, clock_ms: float = 0, steps: Sequence[int] = range(4), world_size: int = 4
) -> Measured:
    """``late_ms``: in each step, or by step."""
    by_step = late_ms if isinstance(late_ms, Mapping) else dict.fromkeys(steps, late_ms)
    return measured_case({"timeline": timeline(steps, by_step), "info": info(rank, world_size, clock_ms)})


def summary(rank: int, **told: Any) -> RankSummary:
    """See `measured`."""
    return summary_of(measured(rank, **told), source=f"rank{rank}.json")


def write_trace(path: Path, rank: int, *, late_ms: float = 0, world_size: int = 4) -> None:
    """The same as a file."""
    text = timeline(range(4), dict.fromkeys(range(4), late_ms))
    document = {"schemaVersion": 1, **info(rank, world_size), "traceEvents": events_from_text(text)}
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
