"""What the training thread had of the processor (docs/architecture.md,
*processor.bin*), between any two samples.

A thread is *delayed* while it is ready to run and has no core, because other threads have them all. That is
known to the nanosecond, and it is not the script's doing: without other programs on the machine the same
steps take so much less. Threads that compute beside it are delayed too, and then it waits for them: spinning,
which looks like its own work. So what it ran counts as far as none of them was delayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

RECORD = np.dtype(
    [
        (name, "<i8")
        for name in ("border", "ns", "middle_ns", "end_ns", "ran_ns", "delay_ns", "pool_delay_ns", "switches")
    ]
)
# begins at its number, ends at the negative one
PARTS = {1: "forward", 2: "backward", 3: "optimizer", 4: "next"}
TICK, TICK_ENDS = 0, 5
SAMPLE_NS = 20_000  # half a sample takes no longer by itself


@dataclass(frozen=True)
class Stretches:
    """Stretches of a thread's time, ns; what the recorder itself did at a tick,
    and the taking of samples, is in none.
    """

    wall_ns: np.ndarray
    undelayed_ns: np.ndarray  # without delays; nan where they are unknown
    # in which the thread neither ran nor was ready to: it slept, read or waited; nan if unknown
    slept_ns: np.ndarray

    @property
    def lengths_ns(self) -> np.ndarray:
        """Without delays, as far as they are known."""
        return np.where(np.isnan(self.undelayed_ns), self.wall_ns, self.undelayed_ns)

    @property
    def lost_share(self) -> np.ndarray:
        """How much of each the delays are; nan if unknown."""
        lost_ns = self.wall_ns - self.undelayed_ns
        return np.divide(
            lost_ns, self.wall_ns, out=np.where(np.isnan(lost_ns), np.nan, 0.0), where=self.wall_ns > 0
        )

    def lasting(self, wall_ns: np.ndarray) -> Stretches:
        """The same stretches where they last so long: until a GPU is through with them."""
        undelayed_ns = np.maximum(wall_ns - (self.wall_ns - self.undelayed_ns), 0)
        return Stretches(wall_ns.astype(float), undelayed_ns, self.slept_ns)

    def longer_by(self, ns: float) -> Stretches:
        """Each by so much, of which nothing is delay or sleep."""
        return Stretches(self.wall_ns + ns, self.undelayed_ns + ns, self.slept_ns) if ns else self

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
    border, begin_ns, middle_ns, end_ns = (
        samples[name].to_numpy() for name in ("border", "ns", "middle_ns", "end_ns")
    )
    ours = (border[:-1] == TICK) & (border[1:] == TICK_ENDS)
    took_ns = begin_ns[1:] - end_ns[:-1]
    ran_ns = np.clip(np.diff(samples["ran_ns"]), 0, took_ns)
    # The delay is asked for in the second half of a sample. What the halves next to a stretch
    # took is delay as well, if it is much.
    beside_ns = _delayed(end_ns - middle_ns)[:-1] + _delayed(middle_ns - begin_ns)[1:]
    delay_ns = np.clip(_delays(samples) - beside_ns, 0, took_ns - ran_ns)
    wall_ns, delay_ns, ran_ns = (
        np.where(ours, 0, column).astype(float) for column in (took_ns, delay_ns, ran_ns)
    )
    others_ns = np.where(
        _known(samples["pool_delay_ns"]), np.clip(np.diff(samples["pool_delay_ns"]), 0, wall_ns), 0
    )
    spun_ns = np.divide(ran_ns * others_ns, wall_ns, out=np.zeros(len(wall_ns)), where=wall_ns > 0)
    return Stretches(wall_ns, wall_ns - delay_ns - spun_ns, wall_ns - delay_ns - ran_ns)


def _delays(samples: pd.DataFrame) -> np.ndarray:
    """Where the kernel does not tell how long a thread was delayed it may tell how often a core
    was taken from it: never is no delay.
    """
    taken = np.where(_known(samples["switches"]) & (np.diff(samples["switches"]) == 0), 0.0, np.nan)
    return np.where(_known(samples["delay_ns"]), np.diff(samples["delay_ns"]), taken)


def _delayed(halves_ns: np.ndarray) -> np.ndarray:
    """What halves of samples took beyond what they take without a delay."""
    return np.maximum(halves_ns - SAMPLE_NS, 0)


def _known(column: pd.Series) -> np.ndarray:
    """For each stretch whether both its ends are known."""
    known = column.to_numpy() >= 0
    return np.asarray(known[:-1] & known[1:])


def step_stretches(
    table: pd.DataFrame, phase: dict[str, Any] | None, ticks_per_step: int
) -> Stretches | None:
    """The whole steps of a phase. None without a step.

    Short steps have no sample each: those between two samples share what these tell. A core is taken away for
    longer than such a step, so a delay is that of the longest of them. It is unknown behind the last sample.
    """
    tick_ns = np.asarray(phase["tick_ns"] if phase else [], np.int64)
    borders_ns = tick_ns[::ticks_per_step]
    if len(borders_ns) < 2:
        return None
    wall_ns = np.diff(borders_ns).astype(float)
    unknown = np.full(len(wall_ns), np.nan)
    samples = samples_within(table, int(tick_ns[0]), int(tick_ns[-1]))
    sampled = (
        np.isin(borders_ns, samples.ns[samples.border == TICK])
        if samples is not None
        else np.zeros(len(borders_ns), bool)
    )
    if samples is None or not sampled[0] or sampled.sum() < 2:
        return Stretches(wall_ns, unknown, unknown)
    known_ns = borders_ns[sampled]
    inside = (samples.ns[:-1] >= known_ns[0]) & (samples.ns[:-1] < known_ns[-1])
    group = np.searchsorted(known_ns, samples.ns[:-1][inside], side="right") - 1
    groups = samples.stretches.where(inside).summed(group, len(known_ns) - 1)
    return _shared(wall_ns, groups, np.searchsorted(known_ns, borders_ns[:-1], side="right") - 1)


def _shared(wall_ns: np.ndarray, groups: Stretches, group_of: np.ndarray) -> Stretches:
    """The steps' own parts of their groups' stretches, which lack what the recorder
    did; steps of no group are unknown.
    """
    count = len(groups.wall_ns)
    is_known = group_of < count
    of = np.minimum(group_of, count - 1)
    together_ns = np.bincount(group_of[is_known], weights=wall_ns[is_known], minlength=count)
    parts = np.divide(wall_ns, together_ns[of], out=np.zeros(len(wall_ns)), where=together_ns[of] > 0)
    shared_ns = groups.wall_ns[of] * parts
    lost_ns = (groups.wall_ns - groups.undelayed_ns)[of]
    order = np.lexsort((wall_ns, group_of))
    longest = np.zeros(len(wall_ns), bool)
    longest[order[np.append(np.diff(group_of[order]) > 0, True)]] = True
    undelayed_ns = np.where(
        longest, np.maximum(shared_ns - lost_ns, 0.0), np.where(np.isnan(lost_ns), np.nan, shared_ns)
    )
    slept_ns = groups.slept_ns[of] * parts
    return Stretches(
        *(
            np.where(is_known, column, missing)
            for column, missing in ((shared_ns, wall_ns), (undelayed_ns, np.nan), (slept_ns, np.nan))
        )
    )
