"""What the training thread had of the processor (docs/architecture.md, *processor.bin*), between any two samples.

A thread is *delayed* while it is ready to run and has no core, because other threads have them all. That is known to the nanosecond, and it
is not the script's doing: without other programs on the machine the same steps take so much less. Threads that compute beside it are
delayed too, and then it waits for them: spinning, which looks like its own work. So what it ran counts as far as none of them was delayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

RECORD = np.dtype([(name, "<i8") for name in ("border", "ns", "middle_ns", "end_ns", "ran_ns", "delay_ns", "pool_delay_ns", "switches")])
PARTS = {1: "forward", 2: "backward", 3: "optimizer", 4: "next"}  # begins at its number, ends at the negative one
TICK, TICK_ENDS = 0, 5
SAMPLE_NS = 20_000  # half a sample takes no longer by itself


@dataclass(frozen=True)
class Stretches:
    """Stretches of a thread's time, ns; what the recorder itself did at a tick, and the taking of samples, is in none."""

    wall_ns: np.ndarray
    undelayed_ns: np.ndarray  # without delays; nan where they are unknown
    slept_ns: (
        np.ndarray
    )  # in which the thread neither ran nor was ready to: it slept, read, waited for a lock or for others; nan if unknown

    @property
    def lengths_ns(self) -> np.ndarray:
        """Without delays, as far as they are known."""
        return np.where(np.isnan(self.undelayed_ns), self.wall_ns, self.undelayed_ns)

    @property
    def lost_share(self) -> np.ndarray:
        """How much of each the delays are; nan if unknown."""
        lost_ns = self.wall_ns - self.undelayed_ns
        return np.divide(lost_ns, self.wall_ns, out=np.where(np.isnan(lost_ns), np.nan, 0.0), where=self.wall_ns > 0)

    def where(self, chosen: np.ndarray) -> Stretches:
        return Stretches(self.wall_ns[chosen], self.undelayed_ns[chosen], self.slept_ns[chosen])

    def summed(self, group: np.ndarray, count: int) -> Stretches:
        """Of each of ``count`` groups the sum of its stretches."""
        columns = (self.wall_ns, self.undelayed_ns, self.slept_ns)
        return Stretches(*(np.bincount(group, weights=column, minlength=count) for column in columns))


@dataclass(frozen=True)
class Samples:
    """The samples of one phase, by time."""

    border: np.ndarray
    ns: np.ndarray
    end_ns: np.ndarray
    stretches: Stretches  # from the end of each sample to the next

    def __len__(self) -> int:
        return len(self.ns)


def samples_within(table: pd.DataFrame, first_ns: int, last_ns: int) -> Samples | None:
    """The samples from one moment of the host's clock to another; None without two of them."""
    inside = table[(table["ns"] >= first_ns) & (table["ns"] <= last_ns)]
    if len(inside) < 2:
        return None
    border, ns = inside["border"].to_numpy(), inside["ns"].to_numpy()
    return Samples(border, ns, inside["end_ns"].to_numpy(), _stretches(inside))


def _stretches(samples: pd.DataFrame) -> Stretches:
    border, begin_ns, middle_ns, end_ns = (samples[name].to_numpy() for name in ("border", "ns", "middle_ns", "end_ns"))
    ours = (border[:-1] == TICK) & (border[1:] == TICK_ENDS)
    took_ns = begin_ns[1:] - end_ns[:-1]
    ran_known = _known(samples["ran_ns"])
    ran_ns = np.where(ran_known, np.clip(np.diff(samples["ran_ns"]), 0, took_ns), 0)
    # The delay is asked for in the second half of a sample. What the halves next to a stretch took is delay as well, if it is much.
    beside_ns = _delayed(end_ns - middle_ns)[:-1] + _delayed(middle_ns - begin_ns)[1:]
    delay_ns = np.clip(_delays(samples) - beside_ns, 0, took_ns - ran_ns)
    wall_ns, delay_ns, ran_ns = (np.where(ours, 0, column).astype(float) for column in (took_ns, delay_ns, ran_ns))
    others_ns = np.where(_known(samples["pool_delay_ns"]), np.clip(np.diff(samples["pool_delay_ns"]), 0, wall_ns), 0)
    spun_ns = np.divide(ran_ns * others_ns, wall_ns, out=np.zeros(len(wall_ns)), where=wall_ns > 0)
    return Stretches(wall_ns, wall_ns - delay_ns - spun_ns, np.where(ran_known, wall_ns - delay_ns - ran_ns, np.nan))


def _delays(samples: pd.DataFrame) -> np.ndarray:
    """Where the kernel does not tell how long a thread was delayed it may tell how often a core was taken from it: never is no delay."""
    taken = np.where(_known(samples["switches"]) & (np.diff(samples["switches"]) == 0), 0.0, np.nan)
    return np.where(_known(samples["delay_ns"]), np.diff(samples["delay_ns"]), taken)


def _delayed(halves_ns: np.ndarray) -> np.ndarray:
    """What halves of samples took beyond what they take without a delay."""
    return np.maximum(halves_ns - SAMPLE_NS, 0)


def _known(column: pd.Series) -> np.ndarray:
    """For each stretch whether both its ends are known."""
    known = column.to_numpy() >= 0
    return np.asarray(known[:-1] & known[1:])


def step_stretches(table: pd.DataFrame, phase: dict[str, Any] | None, ticks_per_step: int) -> Stretches | None:
    """The whole steps of a phase; their delays are unknown without a sample at every tick. None without a step."""
    tick_ns = np.asarray(phase["tick_ns"] if phase else [], np.int64)
    borders_ns = tick_ns[::ticks_per_step]
    if len(borders_ns) < 2:
        return None
    samples = samples_within(table, int(tick_ns[0]), int(tick_ns[-1]))
    if samples is not None and np.isin(borders_ns, samples.ns[samples.border == TICK]).all():
        step = np.searchsorted(borders_ns, samples.ns[:-1], side="right") - 1
        whole = step < len(borders_ns) - 1
        return samples.stretches.where(whole).summed(step[whole], len(borders_ns) - 1)
    unknown = np.full(len(borders_ns) - 1, np.nan)
    return Stretches(np.diff(borders_ns).astype(float), unknown, unknown)
