"""Predicted savings next to measured ones, of all fixes that were tried and timed, whatever came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from diagnose.document.model import FixResult, Verdict, Verification


@dataclass(frozen=True)
class Pair:
    """Savings in ms per step: least, best guess, most. `before_ms`: the measured step without the fix;
    `predicted_of_ms`: the step that the saving was predicted of, None where that is not known (then it is
    taken for the measured one).
    """

    run: str
    rule: str
    before_ms: float
    predicted_ms: tuple[float, float, float]
    measured_ms: tuple[float, float, float]
    predicted_of_ms: float | None = None
    verdict: Verdict | None = None

    @property
    def expected_ms(self) -> tuple[float, float, float]:
        """The prediction as the same share of the measured step: the machine may have been faster or slower
        than when it was made.
        """
        scale = self.before_ms / self.predicted_of_ms if self.predicted_of_ms else 1.0
        low, best, high = self.predicted_ms
        return scale * low, scale * best, scale * high

    @property
    def error(self) -> float:
        """Of the step with the fix, as a share of the measured one."""
        after_ms = self.before_ms - self.measured_ms[1]
        return (self.measured_ms[1] - self.expected_ms[1]) / after_ms

    @property
    def inside(self) -> bool:
        """Whether the measured saving is in the predicted range, as far as the measurement can tell."""
        low, _, high = self.expected_ms
        return low <= self.measured_ms[2] and self.measured_ms[0] <= high


@dataclass(frozen=True)
class Summary:
    count: int
    p50: float
    p90: float
    inside: float


def pairs_of(run: str, results: Iterable[FixResult]) -> list[Pair]:
    """Of the fixes with a prediction that were timed by themselves: faster, slower and too noisy alike."""
    return [
        Pair(
            run,
            tried.rule,
            tried.change.before_ms,
            (tried.predicted_ms.low, tried.predicted_ms.best_guess, tried.predicted_ms.high),
            tried.change.saved_ms,
            tried.predicted_of_ms,
            tried.verdict,
        )
        for tried in results
        if tried.change and tried.predicted_ms and not tried.beside
    ]


def pairs_below(folder: Path) -> list[Pair]:
    """Of all verified runs in a folder, or of the run folder itself.

    One that cannot be read counts for nothing.
    """
    pairs = []
    for path in sorted({*folder.glob("verify.json"), *folder.glob("*/verify.json")}):
        try:
            verification = msgspec.json.decode(path.read_bytes(), type=Verification)
            pairs += pairs_of(path.parent.name, verification.tried)
        except (OSError, ValueError, RecursionError):
            continue
    return pairs


def summary(pairs: Sequence[Pair]) -> Summary:
    """Raises ValueError if there are none."""
    if not pairs:
        raise ValueError("no pair")
    p50, p90 = np.percentile([abs(pair.error) for pair in pairs], [50, 90])
    return Summary(len(pairs), float(p50), float(p90), float(np.mean([pair.inside for pair in pairs])))
