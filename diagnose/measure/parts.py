"""How long the parts of a plain step take: forward, backward, optimizer, the wait for input, and
the rest, timed without a profiler.

A stretch between two samples belongs to the part that is open there, of several to the
one that the ledger peels off first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diagnose.measure.processor import PARTS, TICK, Samples, Stretches
from diagnose.measure.typical import Typical, least_delayed, typical

# in the ledger's order
ROWS = {"next": "input_wait", "backward": "backward", "forward": "forward", "optimizer": "optimizer"}
REST = "rest"


@dataclass(frozen=True)
class PartTimes:
    """Of each row of a host's ledger that is a part, and of the ``REST``: ms of the typical step,
    and ms of these that the thread slept.
    """

    ms: Mapping[str, float]
    slept_ms: Mapping[str, float]

    @property
    def step_ms(self) -> float:
        return sum(self.ms.values())

    def fitted(self, step_ms: float) -> Mapping[str, float]:
        """ms of the parts of a step of that length: what is computed takes so much more
        or less, sleep takes what it takes.
        """
        slept_ms = sum(self.slept_ms.values())
        if not slept_ms < min(step_ms, self.step_ms):
            return {row: ms * step_ms / self.step_ms for row, ms in self.ms.items()}
        pace = (step_ms - slept_ms) / (self.step_ms - slept_ms)
        return {row: self.slept_ms[row] + (ms - self.slept_ms[row]) * pace for row, ms in self.ms.items()}


def part_times(
    samples: Samples, ticks_per_step: int, *, vary: bool = False, plain: Typical | None = None
) -> PartTimes | None:
    """The parts of the steps in these samples, which begin and end with a tick; None without a whole step.
    ``plain``: the typical ones of another phase.

    Each part is the mean of the typical steps, of those in which it was not delayed: a step is hardly
    ever spared, a part of it often is.
    """
    ticks = np.flatnonzero(samples.border == TICK)[::ticks_per_step]
    count, rows = len(ticks) - 1, [*ROWS.values(), REST]
    if count < 1:
        return None
    step = np.searchsorted(ticks, np.arange(len(samples) - 1), side="right") - 1
    whole = (step >= 0) & (step < count)
    stretches, step, row = samples.stretches.where(whole), step[whole], _rows(samples)[:-1][whole]
    lengths_ns = stretches.summed(step, count).lengths_ns
    in_periods = plain is not None and (plain.period > 1 or plain.apart_share > 0)
    ordinary = plain.alike(lengths_ns) if plain and in_periods else _ordinary_steps(lengths_ns, vary=vary)
    ms, slept_ms = {}, {}
    for index, name in enumerate(rows):
        of_row = stretches.where(row == index).summed(step[row == index], count).where(ordinary)
        chosen, _ = least_delayed(of_row)
        ms[name] = float(of_row.lengths_ns[chosen].mean()) / 1e6
        slept_ms[name] = min(ms[name], float(np.nan_to_num(of_row.slept_ns)[chosen].mean()) / 1e6)
    return PartTimes(ms, slept_ms)


def _ordinary_steps(lengths_ns: np.ndarray, *, vary: bool) -> np.ndarray:
    """Which of the steps are neither far longer nor shorter than the others, their delays left out."""
    return typical(Stretches(lengths_ns, lengths_ns, lengths_ns), vary=vary).chosen


def _rows(samples: Samples) -> np.ndarray:
    """To which row the stretch after each sample belongs, by its position
    in `ROWS`; else that of the `REST`.
    """
    numbers = {name: number for number, name in PARTS.items()}
    found = np.full(len(samples), len(ROWS))
    for index, part in reversed(list(enumerate(ROWS))):
        opened = np.cumsum(
            (samples.border == numbers[part]).astype(int) - (samples.border == -numbers[part]).astype(int)
        )
        found[opened > 0] = index
    return found
