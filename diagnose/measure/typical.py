"""The typical step: which of the timed steps stand for all, and how long they take on average.

A step is untypical if its threads were delayed (other programs had the cores), if it takes far longer than
the others (an evaluation, a checkpoint, an epoch's end) or far shorter (a stub). The mean of the others is
*the step*, which all that a report says is scaled to. Where nearly every step was delayed, those delayed
least stand for all, without their delays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.measure.processor import Stretches

SLOW_STEP = 1.5  # times the median: nsys-ai's mark for a spike
STUB = 0.5  # times the median
# of a step, from which it is delayed: less is what a quiet machine's own threads take now and then
DELAYED_SHARE = 0.02
FEWEST = 3  # steps that are not delayed, to stand for all
EXCEPTIONS = 1 / 3  # of the steps at most: more are no exception
LEAST_DELAYED = 0.5  # of the steps, where fewer are not


@dataclass(frozen=True)
class Typical:
    """``chosen``: which steps stand for all; ``lengths_ns``: of each step, as it counts.

    ``delayed``: the chosen ones were.
    """

    chosen: np.ndarray
    lengths_ns: np.ndarray
    delayed: bool

    @property
    def mean_ns(self) -> float:
        return float(self.lengths_ns[self.chosen].mean())


def typical(steps: Stretches, *, vary: bool = False) -> Typical:
    """The typical ones of at least one step.

    ``vary``: steps take different times by nature, and none is too long or short.
    """
    chosen, delayed = least_delayed(steps)
    lengths_ns = steps.lengths_ns
    if (
        chosen[1:].sum() >= FEWEST and lengths_ns[0] > lengths_ns[1:][chosen[1:]].max()
    ):  # it follows what ended the phase before it
        chosen[0] = False
    return Typical(chosen if vary else chosen & _ordinary(lengths_ns, chosen), lengths_ns, delayed)


def least_delayed(steps: Stretches) -> tuple[np.ndarray, bool]:
    """Those that were not delayed, or least of all; and whether they were."""
    lost = steps.lost_share
    if np.isnan(lost).all():
        return np.ones(len(lost), bool), False
    lost = np.nan_to_num(lost, nan=1.0)
    fewest = min(FEWEST, len(lost))
    if (lost < DELAYED_SHARE).sum() >= fewest:
        return lost < DELAYED_SHARE, False
    return lost <= np.sort(lost)[max(fewest, round(LEAST_DELAYED * len(lost))) - 1], True


def ordinary(lengths_ns: np.ndarray) -> np.ndarray:
    """Which steps take about as long as their median; all where that leaves out too many."""
    return _ordinary(lengths_ns, np.ones(len(lengths_ns), bool))


def _ordinary(lengths_ns: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Which take about as long as the median of those."""
    if not among.any():
        return among
    median_ns = np.median(lengths_ns[among])
    alike = (lengths_ns < SLOW_STEP * median_ns) & (lengths_ns > STUB * median_ns)
    return alike if (among & ~alike).sum() <= EXCEPTIONS * among.sum() else np.ones(len(alike), bool)
