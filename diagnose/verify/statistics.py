"""What a duel of two arms says: runs of the script as it is (A) against runs with
the fix (B), compared pair by pair.

Each run yields one number, the mean time of the same steps. Runs go A B B A A B B A …; neighbours form pairs,
so slow drift cancels within a block of four. All is computed on d = ln(B ÷ A) of a pair, where faster and
slower are mirror images, and told as a share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, Protocol

import numpy as np

LOOKS = (4, 6, 8, 12, 16, 24, 32)  # pairs after which a duel may stop; the last also ends it
ERROR_PER_LOOK = 0.05 / len(LOOKS)  # two-sided; see interval_of
LEAST_EFFECT = 0.005  # see verdict
MOST_NOISE = 0.1  # of the step: a noise floor above it hides what anyone would want to know
RESAMPLES = 2000
PERCENTILE = 0.05  # of the resampled means, at both ends; see interval_of
# robust standard deviations; pairs; share of the pairs
OUTLIER_SCORE, FEWEST_FOR_OUTLIERS, MOST_OUTLIERS = (3.5, 6, 0.2)
SD_PER_MAD = 1.4826  # of a normal distribution
CLOCK = 1e-6  # relative differences below it are rounding, not spread

Verdict = Literal["faster", "slower", "no_change", "no_such_gain", "less_work", "too_noisy"]


@dataclass(frozen=True)
class Comparison:
    """Shares are of A's time and negative where B is faster: -0.21 takes 21 % less time."""

    pairs: int  # used
    outliers: int  # pairs set aside
    change: float  # B ÷ A - 1
    low: float
    high: float
    # how far from no change runs of the same arm would look, paired and averaged like these, by chance
    noise: float
    before_ms: float
    after_ms: float
    saved_ms: tuple[float, float, float]  # least, best guess, most
    # by how much runs of the same arm moved from the first half of the pairs to the second
    drift: float = 0.0


class Interval(Protocol):
    """What is told of a change: by a `Comparison` here, or as it stands in a result document."""

    @property
    def change(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def noise(self) -> float: ...


def at_a_look(pairs: int) -> int:
    """How many of so many pairs are compared: those of the latest look. What comes after it waits for the
    next one: looking whenever time is up would be looks that `interval_of` does not pay for.
    """
    return max((look for look in LOOKS if look <= pairs), default=pairs)


def comparison(a_ms: Sequence[float], b_ms: Sequence[float], *, seed: int = 0) -> Comparison:
    """Runs in the order in which they were made:

    ``a_ms[i]`` and ``b_ms[i]`` were neighbours, A first where i is even.
    """
    a, b = _logs(a_ms, b_ms)
    differences = b - a
    kept = inliers(differences)
    change, low, high = interval_of(differences, kept, seed)
    before_ms, drift = math.exp(float(np.mean(a[kept]))), drift_of(a, b)
    slowest_ms, fastest_ms = before_ms * math.exp(drift / 2), before_ms * math.exp(-drift / 2)
    least, most = -high, -low
    return Comparison(
        pairs=int(kept.sum()),
        outliers=int((~kept).sum()),
        change=change,
        low=low,
        high=high,
        noise=noise_floor(a, b),
        before_ms=before_ms,
        after_ms=before_ms * (1 + change),
        saved_ms=(
            least * (fastest_ms if least > 0 else slowest_ms),
            -before_ms * change,
            most * (slowest_ms if most > 0 else fastest_ms),
        ),
        drift=_change(drift),
    )


def verdict(c: Comparison, precision: float) -> Verdict:
    """What the comparison says when asked for the change to within ± ``precision``.

    An effect must show beyond the interval, the noise floor and ``LEAST_EFFECT``, and none is told before the
    first look. Below half a percent no difference can be put down to the fix: the fix also changes the
    process's environment and memory layout, which alone move run times by as much and more (Mytkowicz et al.
    2009, "Producing Wrong Data Without Doing Anything Obviously Wrong!"), and no number of runs averages that
    out.

    No change: within ± ``precision``, or about 0 and within the noise floor, unless that is above
    ``MOST_NOISE``. A change that hides in the floor is not known to be none.
    """
    beyond = c.pairs + c.outliers >= LOOKS[0] and abs(c.change) > max(c.noise, LEAST_EFFECT)
    if beyond and c.high < 0:
        return "faster"
    if beyond and c.low > 0:
        return "slower"
    in_noise = c.low <= 0 <= c.high and c.noise <= MOST_NOISE and _within(c, c.noise)
    return "no_change" if in_noise or _within(c, max(precision, LEAST_EFFECT)) else "too_noisy"


def verdict_on(
    c: Comparison, precision: float, predicted: tuple[float, float] | None, work: Comparison | None
) -> Verdict:
    """The same, and where the time is too noisy to say: whether it excludes what was predicted (least and
    most, shares of the step), else whether `work`, the processor time, is less. That is a claim of its own:
    less work need not be a shorter step.
    """
    said = verdict(c, precision)
    if said != "too_noisy":
        return said
    if falls_short(c, predicted):
        return "no_such_gain"
    return "less_work" if work is not None and verdict(work, precision) == "faster" else said


def falls_short(c: Interval, predicted: tuple[float, float] | None) -> bool:
    """Whether the most that may be gained, and the noise floor on top, is less than the least predicted."""
    return predicted is not None and -c.change < predicted[0] and -c.low + _beyond(c) < predicted[0]


def exceeds(c: Interval, predicted: tuple[float, float] | None) -> bool:
    """Whether the least that is gained is more than the most predicted."""
    return predicted is not None and -c.high > predicted[1]


def _beyond(c: Interval) -> float:
    """What the noise floor adds to the interval, which holds the pairs' own spread already."""
    return max(0.0, c.noise - (c.high - c.low) / 2)


def is_clear(c: Comparison, precision: float) -> bool:
    """Whether the duel may stop at this look: an effect known to ± ``precision`` or to ± a quarter of
    itself, or none above ``precision``.

    That a change hides in the noise floor is no reason to stop while there is time: more pairs lower the
    floor.
    """
    if c.pairs + c.outliers < LOOKS[0]:
        return False
    said = verdict(c, precision)
    if said in ("faster", "slower"):
        return (c.high - c.low) / 2 <= max(precision, abs(c.change) / 4)
    return said == "no_change" and _within(c, max(precision, LEAST_EFFECT))


def _within(c: Comparison, bound: float) -> bool:
    return -bound <= c.low and c.high <= bound


def _logs(a_ms: Sequence[float], b_ms: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(a_ms, dtype=float), np.asarray(b_ms, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"runs come in pairs: {a.shape} of A, {b.shape} of B")
    if len(a) < 2:
        raise ValueError(f"a comparison needs 2 pairs, not {len(a)}")
    if not np.all(np.isfinite([a, b])) or min(a.min(), b.min()) <= 0:
        raise ValueError("times must be positive numbers")
    return np.log(a), np.log(b)


def inliers(values: np.ndarray) -> np.ndarray:
    """True where a value is used: at most 3.5 robust standard deviations from the median
    (Iglewicz & Hoaglin 1993, "How to Detect and Handle Outliers"). At most a fifth is set aside,
    the furthest first, and none of fewer than six.
    """
    distance = np.abs(values - np.median(values))
    limit = OUTLIER_SCORE * max(SD_PER_MAD * float(np.median(distance)), CLOCK)
    most = int(MOST_OUTLIERS * len(values)) if len(values) >= FEWEST_FOR_OUTLIERS else 0
    furthest = np.argsort(-distance, kind="stable")[:most]
    kept = np.ones(len(values), dtype=bool)
    kept[furthest[distance[furthest] > limit]] = False
    return kept


def interval_of(differences: np.ndarray, kept: np.ndarray, seed: int) -> tuple[float, float, float]:
    """The mean of the pairs kept as a change, and its interval for one look of a duel.

    A percentile bootstrap of the pairs gives the shape. It is too narrow for few pairs, by √((n-1) ÷ n) and
    for want of a t quantile (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 3.2),
    and of four pairs it has no far percentiles at all. So its 5 % and 95 % percentiles are stretched about
    the mean: by t at the look's level ÷ z at 5 % × √(n ÷ (n-1)), and by all pairs ÷ pairs kept, as for a
    trimmed mean (Tukey & McLaughlin 1963): what is left after setting pairs aside looks calmer than it is.

    The whole duel's error of 5 % is spent in equal parts on its looks (Bonferroni), so the interval holds
    whatever made the duel stop (repeated confidence intervals: Jennison & Turnbull 1989). Looks share runs,
    which leaves a quarter of it for what setting aside adds: at most 4 % of simulated duels miss the planted
    change, on both sides together (benchmarks/verdicts.py).
    """
    used = differences[kept]
    count, mean = len(used), float(np.mean(used))
    percentiles = np.quantile(_weights(count, seed) @ (used - mean), [PERCENTILE, 1 - PERCENTILE])
    t, z = t_quantile(count - 1, 1 - ERROR_PER_LOOK / 2), NormalDist().inv_cdf(1 - PERCENTILE)
    below, above = (t / z * math.sqrt(count / (count - 1)) * len(differences) / count * percentiles).tolist()
    return _change(mean), _change(mean + below), _change(mean + above)


def noise_floor(a: np.ndarray, b: np.ndarray) -> float:
    """Where the mean of as many A/A pairs would lie in 95 of 100 duels: ± t ×
    root mean square ÷ √pairs, as a share; and the drift ÷ pairs on top.

    The A/A pairs are the same arm's runs next to each other between the duel's pairs: B1 B2, A2 A3,
    B3 B4, … Their mean is known to be 0. Drift cancels within a block of four as far as it is steady; of one
    that comes at once, one pair holds all.
    """
    later = np.arange(1, len(a))
    same = np.where(later % 2 == 1, b[1:] - b[:-1], a[1:] - a[:-1])
    same = same[inliers(same)]
    half = t_quantile(len(same), 0.975) * math.sqrt(float(np.mean(same**2)) / len(a))
    return _change(half + drift_of(a, b) / len(a))


def drift_of(a: np.ndarray, b: np.ndarray) -> float:
    """By how much the same arm's runs differ between the first half of the pairs and the second, in
    logarithms, by the medians; the mean of both arms.
    """
    half = len(a) // 2
    return abs(float(np.mean([np.median(arm[-half:]) - np.median(arm[:half]) for arm in (a, b)])))


@lru_cache(maxsize=256)
def t_quantile(df: int, level: float) -> float:
    """Student's t for a whole number of degrees of freedom and a level of at least 0.5."""
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _t_share_within(df, middle) < 2 * level - 1 else (low, middle)
    return math.sqrt(df) * math.tan(low)


def _t_share_within(df: int, angle: float) -> float:
    """P(|t| ≤ √df × tan(angle)): Abramowitz & Stegun 26.7.3 (odd df) and 26.7.4 (even)."""
    odd = df % 2
    cosine = math.cos(angle)
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for power in range(odd, df - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    share = math.sin(angle) * total
    return (angle + share) * 2 / math.pi if odd else share


def _change(log: float) -> float:
    """A difference of logarithms as a share; e⁷⁰⁰ is near the largest float."""
    return math.expm1(min(log, 700.0))


@lru_cache(maxsize=16)
def _weights(count: int, seed: int) -> np.ndarray:
    """How often each of so many values is drawn in each resample, as weights of a mean."""
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=RESAMPLES) / count
