"""What writing to memory takes while a forked process shares it, as a loader's worker does.

    python -m benchmarks forked-memory

Tensors of 1 MB are added to, first as they are and then once more after a fork, while the child sleeps.
Beyond: what the second time takes longer, in ms by the clock and of processor time in the system.
The median of several forks each, with one thread and with as many as torch has.
"""

from __future__ import annotations

import os
import resource
import signal
import statistics
from collections.abc import Sequence
from time import perf_counter

import torch
from torch import Tensor

from benchmarks.options import parser
from benchmarks.tables import table

MEGABYTE = 1 << 20
FORKS = 5


def write(tensors: list[Tensor]) -> tuple[float, float, int]:
    """ms, ms of processor time in the system, and page faults of writing to all of them."""
    before, begin = resource.getrusage(resource.RUSAGE_SELF), perf_counter()
    for tensor in tensors:
        tensor.add_(1)
    took_s, after = perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * took_s, 1e3 * (after.ru_stime - before.ru_stime), after.ru_minflt - before.ru_minflt


def beyond(tensors: list[Tensor]) -> tuple[float, float, int]:
    """What writing takes more while a child shares the memory, see `write`."""
    alone = write(tensors)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        shared = write(tensors)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return shared[0] - alone[0], shared[1] - alone[1], shared[2] - alone[2]


def main(arguments: Sequence[str]) -> int:
    options = parser("forked-memory", __doc__)
    options.add_argument("--megabytes", type=int, default=400)
    megabytes = options.parse_args(arguments).megabytes
    tensors = [torch.ones(MEGABYTE // 4) for _ in range(megabytes)]
    rows = []
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        forks = [beyond(tensors) for _ in range(FORKS)]
        rows.append((threads, *(round(statistics.median(column)) for column in zip(*forks, strict=True))))
    print(f"{megabytes} MB written after a fork\n")
    print(table(("threads", "beyond, ms", "in the system, ms", "page faults"), rows))
    return 0
