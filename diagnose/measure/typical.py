"""The typical step: which of the timed steps stand for all, and how long they take on average.

A step is untypical if its threads were delayed (other programs had the cores), if it does what only some
steps do (an evaluation, a checkpoint, an epoch's end), or takes far longer or shorter than the others for no
reason known. The mean of the others is *the step*, which all that a report says is scaled to. Where every
second step or more of them is long, none is the usual one: whole periods stand for all. Where nearly every
step was delayed, those delayed least do, without their delays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.measure.periods import SLOW_STEP, mean_of_periods, period_of, short, whole_periods
from diagnose.measure.processor import Stretches

STUB = 0.5  # times the median
# of a step, from which it is delayed: less is what a quiet machine's own threads take now and then
DELAYED_SHARE = 0.02
MUCH_DELAYED = 0.05  # of a step: of less it is known well enough what a step takes without
FEWEST = 3  # steps that are not delayed, to stand for all
FEWEST_QUIET = 1 / 4  # of the steps: of fewer most are long ones, of which the same delay is a smaller share
FEWEST_OTHERS = 1 / 3  # of the steps, where it is known which line makes the rest longer
EXCEPTIONS = 1 / 3  # of the steps at most: more are no exception
LEAST_DELAYED = 0.5  # of the steps, where fewer are not


@dataclass(frozen=True)
class Typical:
    """``chosen``: which steps stand for all; ``lengths_ns``: of each step, as it counts.

    ``delayed``: the chosen ones were. ``period``: of steps that come in periods none of which is the usual
    one; 1 else. ``apart_share``: of the steps, those that do what only some do or are long regularly; none of
    them is chosen.
    """

    chosen: np.ndarray
    lengths_ns: np.ndarray
    delayed: bool
    period: int = 1
    apart_share: float = 0.0

    @property
    def place(self) -> np.ndarray:
        """Of each chosen step in its period."""
        return np.flatnonzero(self.chosen) % self.period

    @property
    def mean_ns(self) -> float:
        return mean_of_periods(self.lengths_ns[self.chosen], self.place)

    def alike(self, lengths_ns: np.ndarray) -> np.ndarray:
        """Which steps of another recording of the same script stand for all of it."""
        if self.period > 1:
            return whole_periods(lengths_ns, self.period)
        if not self.apart_share:
            return ordinary(lengths_ns)
        shortest = np.sort(lengths_ns)[: max(1, round((1 - self.apart_share) * len(lengths_ns)))]
        return _about_as_long(lengths_ns, float(np.median(shortest)))


def typical(steps: Stretches, *, vary: bool = False, apart: np.ndarray | None = None) -> Typical:
    """The typical ones of at least one step.

    ``vary``: steps take different times by nature, and none is too long or short. ``apart``: which do what
    only some steps do.
    """
    lengths_ns = steps.lengths_ns
    period = period_of(lengths_ns)
    chosen, delayed = _least_delayed_by_place(steps, period)
    if (
        chosen[1:].sum() >= FEWEST and lengths_ns[0] > lengths_ns[1:][chosen[1:]].max()
    ):  # it follows what ended the phase before it
        chosen[0] = False
    if vary:
        return Typical(chosen, lengths_ns, delayed)
    if period == 1 and (apart is None or not apart.any()):
        return Typical(chosen & _ordinary(lengths_ns, chosen), lengths_ns, delayed)
    others = np.ones(len(lengths_ns), bool) if apart is None else ~apart
    if period > 1:
        others &= lengths_ns < SLOW_STEP * short(lengths_ns)
    fewest = FEWEST_OTHERS if apart is not None and apart.any() else 1 / 2
    if (chosen & others).sum() > fewest * chosen.sum():
        alike = others & _ordinary(lengths_ns, chosen & others)
        return Typical(chosen & alike, lengths_ns, delayed, apart_share=1 - float(others.mean()))
    if period > 1:
        return Typical(chosen & whole_periods(lengths_ns, period), lengths_ns, delayed, period)
    return Typical(chosen & _ordinary(lengths_ns, chosen), lengths_ns, delayed)


def _least_delayed_by_place(steps: Stretches, period: int) -> tuple[np.ndarray, bool]:
    """At each place of the period by itself: of a longer step the same delay is a smaller share."""
    places = np.arange(len(steps.wall_ns)) % period
    chosen, delayed = np.zeros(len(places), bool), False
    for place in range(min(period, len(places))):
        here = places == place
        chosen[here], are_delayed = least_delayed(steps.where(here))
        delayed |= are_delayed
    return chosen, delayed


def least_delayed(steps: Stretches) -> tuple[np.ndarray, bool]:
    """Those that were not delayed, or least of all; and whether even these were much."""
    lost = steps.lost_share
    if np.isnan(lost).all():
        return np.ones(len(lost), bool), False
    lost = np.nan_to_num(lost, nan=1.0)
    fewest = min(FEWEST, len(lost))
    if (lost < DELAYED_SHARE).sum() >= max(fewest, FEWEST_QUIET * len(lost)):
        return lost < DELAYED_SHARE, False
    least = lost <= np.sort(lost)[max(fewest, round(LEAST_DELAYED * len(lost))) - 1]
    return least, bool(np.median(lost[least]) >= MUCH_DELAYED)


def ordinary(lengths_ns: np.ndarray) -> np.ndarray:
    """Which steps take about as long as their median; all where that leaves out too many."""
    return _ordinary(lengths_ns, np.ones(len(lengths_ns), bool))


def _ordinary(lengths_ns: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Which take about as long as the median of those."""
    if not among.any():
        return among
    median_ns = np.median(lengths_ns[among])
    alike = _about_as_long(lengths_ns, float(median_ns))
    return alike if (among & ~alike).sum() <= EXCEPTIONS * among.sum() else np.ones(len(alike), bool)


def _about_as_long(lengths_ns: np.ndarray, usual_ns: float) -> np.ndarray:
    return (lengths_ns < SLOW_STEP * usual_ns) & (lengths_ns > STUB * usual_ns)
