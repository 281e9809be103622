"""Summaries of many ranks made from those of a few real ones, as `rank_set` makes
traces: what a fleet compares. Synthetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.rank_set import (
    CLOCKS_APART_US,
    RANKS_PER_HOST,
    STEPS,
    Simulated,
    Template,
    simulated,
    template,
)
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.ranks.summary import RankSummary, summary_of


@dataclass(frozen=True)
class RankTimes:
    """One rank's times: ``begins_ns`` (steps + 1) of steps, ``meetings_ns`` (steps × collectives,
    2); ``late_ns`` a batch are planted.
    """

    begins_ns: np.ndarray
    meetings_ns: np.ndarray
    clock_ns: int
    late_ns: int


class RankSummaries:
    """`ranks` of a job whose steps are as many real ones as make so many collectives; one is planted
    to load each, by `late_us`, longer.
    """

    def __init__(
        self, paths: Sequence[Path], ranks: int, collectives: int, late: int, late_us: float
    ) -> None:
        self.real = [summary_of(Measured(load_recording(path)), source=path.name) for path in paths]
        self.times_over = -(-collectives // len(self.real[0].collectives))
        self.ranks, self._late, self.late_us = ranks, late, late_us * self.times_over
        self.templates = [_repeated(template(path), self.times_over) for path in paths]
        self._times = simulated(self.templates, ranks, late, self.late_us)
        self._clocks_us = np.random.default_rng(0).integers(0, CLOCKS_APART_US, 1 + ranks // RANKS_PER_HOST)

    @property
    def collectives(self) -> int:
        """Of a step."""
        return self.times_over * len(self.real[0].collectives)

    def cost_ms(self) -> float:
        """What the planted rank costs the job a step."""
        return self._times.step_ms - simulated(self.templates, self.ranks, self._late, 0).step_ms

    def times(self, rank: int) -> RankTimes:
        return _times_of(
            self._times,
            rank,
            int(self._clocks_us[rank // RANKS_PER_HOST]),
            round(1000 * self.late_us) if rank == self._late else 0,
        )


def _repeated(real: Template, times_over: int) -> Template:
    """A step that is the real one so many times."""
    meetings = np.concatenate([real.meetings_us + number * real.step_us for number in range(times_over)])
    return replace(real, meetings_us=meetings, step_us=real.step_us * times_over)


def _times_of(times: Simulated, rank: int, clock_us: int, late_ns: int) -> RankTimes:
    begins, meetings = times.begins[:, rank] * 1000, times.meetings[:, :, rank].reshape(-1, 2) * 1000
    return RankTimes(
        np.rint(begins).astype(np.int64), np.rint(meetings).astype(np.int64), clock_us * 1000, late_ns
    )


def made_summary(rank: int, ranks: int, real: RankSummary, times: RankTimes) -> RankSummary:
    """The summary of one rank: the real one's collectives and ways, over and over, at these times."""
    zero = int(real.steps["start_ns"].iloc[0]) + times.clock_ns
    a_step = len(times.meetings_ns) // STEPS
    table = pd.concat(
        [real.collectives] * (len(times.meetings_ns) // len(real.collectives)), ignore_index=True
    )
    waited = table["input_wait"].to_numpy().copy()
    waited[::a_step] += times.late_ns
    arrival, end = (times.meetings_ns[:, side] + zero for side in (0, 1))
    table = table.assign(
        step=np.repeat(np.arange(STEPS), a_step), arrival_ns=arrival, end_ns=end, input_wait=waited
    )
    steps = pd.DataFrame(
        {
            "number": np.arange(STEPS),
            "start_ns": times.begins_ns[:-1] + zero,
            "end_ns": times.begins_ns[1:] + zero,
        }
    )
    step_ms = float(np.diff(times.begins_ns).mean()) / 1e6
    host = f"host{rank // RANKS_PER_HOST}"
    return replace(
        real,
        rank=rank,
        source=f"rank{rank:05}.json.gz",
        host=host,
        world_size=ranks,
        step_ms=step_ms,
        steps=steps,
        collectives=table,
    )
