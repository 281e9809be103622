"""How often a comparison's verdict is wrong: simulated comparisons with a planted effect,
through all looks, as Markdown tables.

    python -m benchmarks verdicts [--count N]

One table for comparisons of up to 32 pairs and one for a budget that ends at 8: effect × noise → share of
each verdict, mean pairs run, share of comparisons whose interval covers the planted effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from benchmarks.options import parser
from diagnose.verify.statistics import LOOKS, Comparison, Verdict, comparison, is_clear, verdict

PRECISION = 0.02
STEP_MS = 100.0
EFFECTS = (0.0, -0.02, -0.05, -0.20, 0.05)  # B ÷ A - 1: four fixes and one that harms


@dataclass(frozen=True)
class Noise:
    """What a shared machine does to the mean step of a run; all parts multiply."""

    sigma: float  # lognormal, from run to run
    walk: float = 0.0  # standard deviation of the random walk's step from one run to the next
    bursts: float = 0.0  # share of runs that are 10–40 % slower
    tails: bool = False  # Student's t with 3 degrees of freedom × sigma instead of the normal: variance × 3

    def logs(self, shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
        """Comparisons × runs in the order in which they are made."""
        plain = random.standard_t(3, shape) if self.tails else random.standard_normal(shape)
        walked = np.cumsum(random.standard_normal(shape), axis=1)
        burst = np.where(random.random(shape) < self.bursts, np.log1p(random.uniform(0.1, 0.4, shape)), 0.0)
        return self.sigma * plain + self.walk * walked + burst


NOISES = {
    "1 %": Noise(0.01),
    "2 %": Noise(0.02),
    "1 %, drift": Noise(0.01, walk=0.01),
    "1 %, heavy tails": Noise(0.01, tails=True),
    "1.5 %, drift, bursts": Noise(0.015, walk=0.01, bursts=1 / 15),
    "2 %, drift, bursts, heavy tails": Noise(0.02, walk=0.01, bursts=1 / 15, tails=True),
}


@dataclass(frozen=True)
class Ended:
    """A comparison's last comparison."""

    verdict: Verdict
    comparison: Comparison
    pairs: int  # run


def simulated(
    effect: float, noise: Noise, count: int, budget: int = LOOKS[-1], seed: int = 0
) -> Iterator[Ended]:
    random = np.random.default_rng(seed)
    runs = np.exp(noise.logs((count, LOOKS[-1] * 2), random)).reshape(count, LOOKS[-1], 2) * STEP_MS
    runs[:, 1::2] = runs[:, 1::2, ::-1]  # A B, B A, A B, …
    yield from (compare_arms(pairs[:, 0], pairs[:, 1] * (1 + effect), budget) for pairs in runs)


def compare_arms(a_ms: np.ndarray, b_ms: np.ndarray, budget: int) -> Ended:
    for pairs in (look for look in LOOKS if look <= budget):
        said = comparison(a_ms[:pairs].tolist(), b_ms[:pairs].tolist())
        if is_clear(said, PRECISION):
            break
    return Ended(verdict(said, PRECISION), said, pairs)


def share(ended: list[Ended], holds: Callable[[Ended], bool]) -> float:
    return sum(map(holds, ended)) / len(ended)


def covers(ended: Ended, effect: float) -> bool:
    return ended.comparison.low <= effect <= ended.comparison.high


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def table(count: int, budget: int) -> Iterator[str]:
    verdicts = get_args(Verdict)
    yield (
        f"| planted change | noise | {' | '.join(name.replace('_', ' ') for name in verdicts)} | pairs | "
        "interval covers |"
    )
    yield "|---:|---|" + "---:|" * (len(verdicts) + 2)
    for effect in EFFECTS:
        for name, noise in NOISES.items():
            ended = list(simulated(effect, noise, count, budget))
            shares = [float(np.mean([one.verdict == word for one in ended])) for word in verdicts]
            pairs, covered = (
                float(np.mean([one.pairs for one in ended])),
                float(np.mean([covers(one, effect) for one in ended])),
            )
            cells = [f"{100 * effect:+.0f} %", name, *map(percent, shares), f"{pairs:.1f}", percent(covered)]
            yield f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str]) -> None:
    options = parser("verdicts", __doc__)
    options.add_argument("--count", type=int, default=1000, metavar="N", help="of a row (default 1000)")
    count = options.parse_args(arguments).count
    for budget in (LOOKS[-1], 8):
        print(f"\nUp to {budget} pairs, precision {100 * PRECISION:.0f} %, {count} comparisons a row:\n")
        for line in table(count, budget):
            print(line, flush=True)
