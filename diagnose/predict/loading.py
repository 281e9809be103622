"""Loading beside the step: how long a step takes when worker processes fetch the batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.measure.recording import Recording

TURNS = 40  # of all workers, simulated; the first half fills the queue


@dataclass(frozen=True)
class Loading:
    """What a step needs of its loader.

    ``fetch_ms``: one worker's for a batch. ``work_ms``: processor time of a step, fetching included.
    """

    fetch_ms: tuple[float, ...]  # as measured, one after another
    fetches_per_step: float
    work_ms: float
    cores: float
    prefetch: int = 2  # batches that each worker holds ahead; `DataLoader`'s own default

    def step_ms(self, rest_ms: float, workers: int, left: float = 1.0) -> float:
        """A steady step whose other work takes ``rest_ms``; ``left``: of what a fetch took, 0-1.

        Batches go to the workers in turn, and the step takes them in order: what `DataLoader` does. All the
        work together takes at least its share of the cores.
        """
        if workers < 1 or not self.fetch_ms:
            return rest_ms + left * self.fetched_ms
        between_ms = rest_ms / self.fetches_per_step
        free = [0.0] * workers
        taken = [0.0] * (TURNS * workers)
        for batch in range(len(taken)):
            ahead = batch - self.prefetch * workers
            asked = taken[ahead] if ahead >= 0 else 0.0
            worker = batch % workers
            free[worker] = max(free[worker], asked) + left * self.fetch_ms[batch % len(self.fetch_ms)]
            taken[batch] = max(taken[batch - 1] + between_ms if batch else 0.0, free[worker])
        half = len(taken) // 2
        steady_ms = (taken[-1] - taken[half - 1]) / half * self.fetches_per_step
        return max(steady_ms, (self.work_ms - (1 - left) * self.fetched_ms) / self.cores)

    @property
    def fetched_ms(self) -> float:
        """All fetches of a step."""
        return sum(self.fetch_ms) / max(len(self.fetch_ms), 1) * self.fetches_per_step


def fetch_series_ms(recording: Recording, phase_name: str) -> tuple[float, ...]:
    """How long each batch took to fetch during a phase, ms."""
    phase, fetches = recording.phase(phase_name), recording.fetches
    if phase is None:
        return ()
    start = fetches["start_ns"].to_numpy()
    inside = (start >= phase["tick_ns"][0]) & (start < phase["tick_ns"][-1])
    return tuple((fetches["dur_ns"].to_numpy()[inside].astype(np.float64) / 1e6).tolist())
