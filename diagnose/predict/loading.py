"""Loading beside the step: how long a step takes when worker processes fetch the batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.judge.left import Outcome
from diagnose.measure.fetches import fetches_in
from diagnose.measure.recording import Recording

TURNS = 40  # of all workers, simulated; the first half fills the queue
# What a ms of a worker's work on a core that the step computes on adds to the step: at best what it takes of
# all cores, at worst each operator's threads wait for the one that lost its core. On two cores, by twelve
# scripts timed with and without workers: half to twice of it (docs/decisions.md, 79).
SHARED: dict[Outcome, float] = {"best": 0.0, "guess": 1.0, "worst": 2.0}
# and the step computes at most so many times as long, however much the workers have to do
SLOWEST: dict[Outcome, float] = {"best": 1.5, "guess": 2.0, "worst": 3.0}
# Without workers the step gets back what they took of it: the more the worse they were.
RELIEF: dict[Outcome, Outcome] = {"best": "worst", "guess": "guess", "worst": "best"}
# What a ms of a worker's work on a free core adds, where there are few: hyperthreads and memory are shared.
FEW_CORES = 4
BESIDE: dict[Outcome, float] = {"best": 0.0, "guess": 0.3, "worst": 0.7}
# × what fetching takes in a worker, whose tensors are made in shared memory
ON_THE_SPOT: dict[Outcome, float] = {"best": 0.4, "guess": 0.7, "worst": 1.0}
# × what the hand-over is calibrated to take
HANDED: dict[Outcome, float] = {"best": 0.5, "guess": 1.0, "worst": 1.5}


@dataclass(frozen=True)
class Loading:
    """What a step needs of its loader, and what the cores are used for.

    ``fetch_ms``: one worker's for a batch. ``fetch_cpu_ms``: processor time of a step's fetches. ``cores``:
    that other programs leave; the step computes on ``computing_cores`` of them, and for ``parallel`` (0-1)
    of its time on all. ``spot_ms``: loading a step's batches without workers. ``handover_ms``: the training
    thread's, for a batch from a worker; ``packing_ms``: the worker's.
    """

    fetch_ms: tuple[float, ...]  # as measured, one after another
    fetches_per_step: float
    fetch_cpu_ms: float
    cores: float
    computing_cores: float = 1.0
    parallel: float = 0.0
    spot_ms: float = 0.0
    handover_ms: float = 0.0
    packing_ms: float = 0.0
    prefetch: int = 2  # batches that each worker holds ahead; `DataLoader`'s own default

    def step_ms(self, rest_ms: float, workers: int, left: float = 1.0, outcome: Outcome = "guess") -> float:
        """A steady step whose other work takes ``rest_ms``; ``left``: of what a fetch took, 0-1."""
        if workers < 1 or not self.fetch_ms:
            return rest_ms + left * self.fetched_ms
        rest_ms += HANDED[outcome] * self.handover_ms * self.fetches_per_step
        return max(
            self.queue_ms(rest_ms, workers, left, outcome),
            self.shared_ms(rest_ms, min(workers, self.cores), left, outcome),
        )

    def queue_ms(self, rest_ms: float, workers: int, left: float = 1.0, outcome: Outcome = "guess") -> float:
        """The step if every process had a core of its own.

        Batches go to the workers in turn, and the step takes them in order: what `DataLoader` does.
        """
        between_ms = rest_ms / self.fetches_per_step
        free = [0.0] * workers
        taken = [0.0] * (TURNS * workers)
        for batch in range(len(taken)):
            ahead = batch - self.prefetch * workers
            asked = taken[ahead] if ahead >= 0 else 0.0
            worker = batch % workers
            made_ms = left * self.fetch_ms[batch % len(self.fetch_ms)] + HANDED[outcome] * self.packing_ms
            free[worker] = max(free[worker], asked) + made_ms
            taken[batch] = max(taken[batch - 1] + between_ms if batch else 0.0, free[worker])
        half = len(taken) // 2
        return (taken[-1] - taken[half - 1]) / half * self.fetches_per_step

    def shared_ms(self, rest_ms: float, slots: float, left: float = 1.0, outcome: Outcome = "guess") -> float:
        """The step where all work has to fit on the cores: what workers cannot do on free ones slows it.

        ``slots``: cores that the workers fill while the step waits for them.
        """
        work_ms = left * self.fetch_cpu_ms + HANDED[outcome] * self.packing_ms * self.fetches_per_step
        beyond_ms = max(0.0, work_ms - max(0.0, self.cores - self.computing_cores) * rest_ms)
        if outcome != "best":  # a core that is free on average is not free while an operator uses all
            beyond_ms = max(beyond_ms, self.parallel * work_ms)
        evenly = 1 / self.cores
        each_ms = self.parallel * max(evenly, SHARED[outcome]) + (1 - self.parallel) * evenly
        slowed_ms = (SLOWEST[outcome] - 1) * rest_ms
        if self.parallel <= 0 or each_ms * beyond_ms <= slowed_ms:
            added_ms = each_ms * beyond_ms
        else:
            added_ms = slowed_ms + (beyond_ms - slowed_ms / each_ms) / slots
        beside_ms = min(work_ms - beyond_ms, rest_ms) * (BESIDE[outcome] if self.cores < FEW_CORES else 0.0)
        return rest_ms + added_ms + beside_ms

    def inline_ms(self, rest_ms: float, workers: int, outcome: Outcome = "guess") -> float:
        """A step without the workers there are: it loads on the spot, and they no longer slow the rest."""
        contended = self.shared_ms(rest_ms, min(workers, self.cores), outcome=RELIEF[outcome])
        relieved_ms = rest_ms * rest_ms / contended if contended > 0 else rest_ms
        return relieved_ms + ON_THE_SPOT[outcome] * self.spot_ms

    @property
    def fetched_ms(self) -> float:
        """All fetches of a step."""
        return sum(self.fetch_ms) / max(len(self.fetch_ms), 1) * self.fetches_per_step


def fetch_series_ms(recording: Recording, phase_name: str) -> tuple[float, ...]:
    """How long each batch that feeds a phase took to fetch, ms."""
    return tuple((fetches_in(recording, phase_name)["dur_ns"].to_numpy(np.float64) / 1e6).tolist())
