"""Synthetic ranks of one job, with times that can be worked out by hand.

A step takes 100 ms. It begins with 5 ms of waiting for the loader, then a kernel computes until 40 ms, then
an all-reduce begins, which ends at 80 ms on all ranks. A rank that is late waits longer for the loader, and
everything up to the all-reduce moves back by that.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diagnose.judge.timelines import ZERO_NS, events_from_text, measured_case
from diagnose.measure.measured import Measured
from diagnose.ranks.summary import RankSummary, summary_of

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
    rank: int,
    *,
    late_ms: float | Mapping[int, float] = 0,
    clock_ms: float = 0,
    steps: Sequence[int] = range(4),
    world_size: int = 4,
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


# ---- tensor parallel × data parallel: a grid of 2 × 2 ranks
#
# A step takes 100 ms: 5 ms of waiting for the loader, a kernel until 20 ms, an all-reduce of 32 MiB
# in the group of tensor parallelism, which takes 10 ms, a kernel of 20 ms, an all-reduce of 64 MiB in
# the group of data parallelism, which takes 30 ms. Ranks 0 and 1 hold one copy of the model, ranks 2
# and 3 the other. If one rank waits longer for the loader, so does its partner in the first
# all-reduce, and both come later to the second.

TENSOR = {0: ("1", [0, 1]), 1: ("1", [0, 1]), 2: ("2", [2, 3]), 3: ("2", [2, 3])}
DATA = {0: ("3", [0, 2]), 1: ("4", [1, 3]), 2: ("3", [0, 2]), 3: ("4", [1, 3])}


def grid_measured(
    rank: int, *, late: int = -1, late_ms: int = 0, host: str = "node0", groups: bool = True
) -> Measured:
    """``late``: the rank that waits so much longer for the loader in each step.

    Without ``groups`` no kernel tells its process group.
    """
    text = "\n".join(_grid_step(rank, number, late, late_ms * 1000, groups=groups) for number in range(4))
    return measured_case({"timeline": text, "info": {**info(rank, 4), "host_name": host}})


def grid_summary(rank: int, **told: Any) -> RankSummary:
    """See `grid_measured`."""
    return summary_of(grid_measured(rank, **told), source=f"rank{rank}.json")


def _grid_step(rank: int, number: int, late: int, late_us: int, *, groups: bool) -> str:
    zero, first = number * STEP_US, 10 * number
    own = late_us if rank == late else 0
    pair = late_us if late in TENSOR[rank][1] else 0  # both of the copy go on later
    tensor, data = zero + 20_000 + own, zero + 50_000 + pair
    tensor_end, data_end = zero + 30_000 + pair, zero + 80_000 + late_us
    return f"""
        main {zero} {STEP_US} step ProfilerStep#{number}
        main {zero} {5_000 + own} op enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
        main {zero + own + 5_000} 50 runtime cudaLaunchKernel {{"correlation": {first}}}
        gpu {zero + own + 5_100} 14900 kernel gemm {{"correlation": {first}}}
        main {zero + own + 5_100} 50 runtime cudaLaunchKernel {{"correlation": {first + 1}}}
        gpu {tensor} {tensor_end - tensor} kernel {KERNEL} {_told(TENSOR[rank], "mesh_tp", 2**23, first + 1, groups=groups)}
        main {zero + own + 5_200} 50 runtime cudaLaunchKernel {{"correlation": {first + 2}}}
        gpu {tensor_end} {data - tensor_end} kernel gemm {{"correlation": {first + 2}}}
        main {zero + own + 5_300} 50 runtime cudaLaunchKernel {{"correlation": {first + 3}}}
        gpu {data} {data_end - data} kernel {KERNEL} {_told(DATA[rank], "mesh_dp", 2**24, first + 3, groups=groups)}"""


def _told(
    group: tuple[str, list[int]], description: str, numbers: int, correlation: int, *, groups: bool
) -> str:
    """The arguments of an all-reduce's kernel."""
    told = {
        "Collective name": "allreduce",
        "In msg nelems": numbers,
        "Group size": 2,
        "dtype": "Float",
        "Process Group Name": group[0],
        "Process Group Description": description,
        "Process Group Ranks": str(group[1]),
    }
    return json.dumps({"correlation": correlation, "stream": 20, **(told if groups else {})})
