"""What looking at a loader's worker costs its fetches.

    python -m benchmarks worker-looks [--pairs N]

In one process, in turns: fetches with looks and without, of samples made in pure Python, which gives up its
lock every 5 ms only, and by NumPy. Prints the median ms of a fetch, its wall time and the process's CPU time,
and by how much those with looks are longer.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.options import parser
from benchmarks.tables import table
from diagnose.run.child.places import Places
from diagnose.run.child.shared_state import SharedState
from diagnose.run.child.worker_lines import WorkerLines

PAIRS = 100
_NUMBERS = np.random.default_rng(0).normal(size=200_000)


def in_python() -> None:
    total = 0
    for number in range(600_000):
        total += number % 7


def in_numpy() -> None:
    for _ in range(12):
        np.sort(_NUMBERS[:60_000])


def took_ms(fetch: Callable[[], None]) -> tuple[float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    fetch()
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - processor)


def main(arguments: Sequence[str]) -> int:
    options = parser("worker-looks", __doc__)
    options.add_argument("--pairs", type=int, default=PAIRS)
    pairs = options.parse_args(arguments).pairs
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        lines = WorkerLines(Places(folder, folder), folder, SharedState(folder))
        for fetch in (in_python, in_numpy):
            alone, looked_at = [], []
            for number in range(2 * pairs):
                if number % 4 in (1, 2):
                    lines.begin(fetch.__code__)
                    looked_at.append(took_ms(fetch))
                    lines.ended()
                else:
                    alone.append(took_ms(fetch))
            for what, of_alone, of_looked_at in zip(
                ("wall", "CPU"), zip(*alone, strict=True), zip(*looked_at, strict=True), strict=True
            ):
                before, after = statistics.median(of_alone), statistics.median(of_looked_at)
                rows.append(
                    (fetch.__name__, what, f"{before:.2f}", f"{after:.2f}", f"{after / before - 1:+.1%}")
                )
    print(table(["fetch", "time", "alone ms", "with looks ms", "longer"], rows))
    return 0
