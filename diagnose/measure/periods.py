"""Steps that come in periods: every second one is long, or every tenth.

Such a difference is no noise. What a step takes is then the mean of whole periods, and what is noise is how
far steps are from others at the same place of their periods.
"""

from __future__ import annotations

import numpy as np

SLOW_STEP = 1.5  # times the short steps: nsys-ai's mark for a spike
FEWEST_PERIODS = 4  # fewer may be chance
# of steps whose lengths differ less: so many, whose longer ones are longer by that factor
FEWEST_STEPS, LONGER = 20, 1.15
AS_USUAL = 0.95  # of the steps are long or short as their place in the period says


def period_of(lengths_ns: np.ndarray) -> int:
    """After how many steps long and short ones repeat; 1 where they do not."""
    if len(lengths_ns) < 2 * FEWEST_PERIODS:
        return 1
    low, high = np.quantile(lengths_ns, [0.1, 0.9])
    found = 1
    if len(lengths_ns) >= FEWEST_STEPS and high >= LONGER * low:
        found = _period(lengths_ns >= (low + high) / 2)
    return found if found > 1 else _period(lengths_ns >= SLOW_STEP * short(lengths_ns))


def regularly_long(lengths_ns: np.ndarray) -> np.ndarray:
    """Which steps are at a place of the period where most are long; none where there is no period."""
    period = period_of(lengths_ns)
    place = np.arange(len(lengths_ns)) % period
    usual = (
        np.array([np.median(lengths_ns[place == one]) for one in range(period)])
        if period > 1
        else np.zeros(1)
    )
    return (usual > (usual.min() + usual.max()) / 2)[place]


def _period(is_long: np.ndarray) -> int:
    if not FEWEST_PERIODS <= is_long.sum() < len(is_long):
        return 1
    count, long = len(is_long), np.flatnonzero(is_long)
    for period in range(2, count // FEWEST_PERIODS + 1):
        long_here = np.bincount(long % period, minlength=period)  # of the steps at each place
        here = count // period + (np.arange(period) < count % period)
        usual = 2 * long_here > here
        as_usual = int(np.maximum(long_here, here - long_here).sum())
        if usual.any() and not usual.all() and as_usual >= AS_USUAL * count:
            return period
    return 1


def short(lengths: np.ndarray) -> float:
    """How long the shorter half of the steps is."""
    return float(np.median(np.sort(lengths)[: (len(lengths) + 1) // 2]))


def whole_periods(lengths_ns: np.ndarray, period: int) -> np.ndarray:
    """Which steps make whole periods, the first ones; all where there is not a whole one."""
    count = len(lengths_ns) // period * period
    return np.arange(len(lengths_ns)) < count if count else np.ones(len(lengths_ns), bool)


def spread(lengths: np.ndarray, place: np.ndarray) -> float:
    """The median distance of a step from the median one at its place of the period (not yet a standard
    deviation); in the unit of the steps. 0 of no step.
    """
    usual = {one: float(np.median(lengths[place == one])) for one in np.unique(place).tolist()}
    distances = [
        abs(length - usual[one]) for length, one in zip(lengths.tolist(), place.tolist(), strict=True)
    ]
    return float(np.median(distances)) if distances else 0.0


def mean_of_periods(lengths: np.ndarray, place: np.ndarray) -> float:
    """The mean step, each place of the period counting alike; of at least one step."""
    return float(np.mean([lengths[place == one].mean() for one in np.unique(place)]))
