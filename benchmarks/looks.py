"""What looking at lines costs the thread that is looked at: a loader's worker while it fetches, and the one
that trains in its plain steps.

    python -m benchmarks looks [--pairs N]

In one process, in turns: work with looks and without, in pure Python, which gives up its lock every 5 ms
only, and by NumPy. Prints the median ms of a piece of work, its wall time and the process's CPU time, and by
how much one with looks is longer than its neighbour without: the median of all pairs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from benchmarks.options import parser
from benchmarks.tables import table
from diagnose.run.child.lines.line_samples import LineSamples
from diagnose.run.child.loading.worker_lines import WorkerLines
from diagnose.run.child.places import Places
from diagnose.run.child.shared_state import SharedState

PAIRS = 150
_NUMBERS = np.random.default_rng(0).normal(size=200_000)


def in_python() -> None:
    total = 0
    for number in range(1_000_000):
        total += number % 7


def in_numpy() -> None:
    for _ in range(60):
        np.sort(_NUMBERS[:60_000])


class Looks(Protocol):
    def begin(self) -> None: ...
    def stop(self) -> None: ...


class WorkerLooks:
    """At one fetch of a worker."""

    def __init__(self, places: Places, folder: str, shared: SharedState, fetch: Callable[[], None]) -> None:
        self._lines, self._fetch = WorkerLines(places, folder, shared), fetch

    def begin(self) -> None:
        self._lines.begin(self._fetch.__code__)

    def stop(self) -> None:
        self._lines.ended()
        self._lines.close()


def took_ms(work: Callable[[], None]) -> tuple[float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - processor)


def main(arguments: Sequence[str]) -> int:
    options = parser("looks", __doc__)
    options.add_argument("--pairs", type=int, default=PAIRS)
    pairs = options.parse_args(arguments).pairs
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        places = Places(folder, folder)
        shared, trained = SharedState(folder), LineSamples(places)
        for work in (in_python, in_numpy):
            rows += _compared("worker", work, partial(WorkerLooks, places, folder, shared, work), pairs)
            rows += _compared("training", work, lambda: trained, pairs)
    print(table(["looked at", "work", "time", "alone ms", "with looks ms", "longer"], rows))
    return 0


def _compared(
    looked_at: str, work: Callable[[], None], looks_of: Callable[[], Looks], pairs: int
) -> Iterator[tuple[str, ...]]:
    """Rows of the table, wall and CPU time."""
    alone, with_looks = [], []
    for number in range(2 * pairs):
        if number % 4 in (1, 2):
            looks = looks_of()
            looks.begin()
            with_looks.append(took_ms(work))
            looks.stop()
        else:
            alone.append(took_ms(work))
    for time_of, before_ms, after_ms in zip(
        ("wall", "CPU"), zip(*alone, strict=True), zip(*with_looks, strict=True), strict=True
    ):
        longer = statistics.median(
            after / before - 1 for before, after in zip(before_ms, after_ms, strict=True)
        )
        before, after = (f"{statistics.median(each):.2f}" for each in (before_ms, after_ms))
        yield looked_at, work.__name__, time_of, before, after, f"{longer:+.1%}"
