"""Predicted savings next to measured ones, of all fixes that were tried and timed, whatever came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from diagnose.document.model import FixResult, Verdict, Verification

UNCLEAR = ("too_noisy", "less_work")
UNREADABLE = "are files that cannot be read"


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
    def inside(self) -> bool | None:
        """Whether the measured saving is in the predicted range; None where it cannot be told: it may be, and
        may as well be none.
        """
        low, _, high = self.expected_ms
        overlaps = low <= self.measured_ms[2] and self.measured_ms[0] <= high
        unclear = self.verdict in UNCLEAR or self.measured_ms[0] <= 0 < low
        return None if overlaps and unclear else overlaps


@dataclass(frozen=True)
class Summary:
    """``inside``: share of the ``told``, those of which it can be told; None if there are none."""

    count: int
    p50: float
    p90: float
    told: int
    inside: float | None


@dataclass(frozen=True)
class Found:
    """``left_out``: how many fixes, or files, are not among the pairs, by the reason."""

    pairs: list[Pair]
    left_out: dict[str, int]


def pairs_of(run: str, results: Iterable[FixResult]) -> list[Pair]:
    """Of the fixes that were timed by themselves, with the arguments of their prediction: faster, slower and
    too noisy alike.
    """
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
        if tried.change and tried.predicted_ms and not why_left_out(tried)
    ]


def why_left_out(tried: FixResult) -> str:
    """In words that follow `2 that …`; empty of one that makes a pair."""
    if tried.predicted_ms is None:
        return "had no prediction"
    if tried.change is None:
        return {"failed": "failed", "not_held": "did not take hold"}.get(tried.state, "were not measured")
    if tried.predicted_with is not None:
        return "were measured with other arguments"
    return "were measured beside others" if tried.beside else ""


def found_below(folder: Path) -> Found:
    """Of all verified runs in a folder, or of the run folder itself."""
    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    for path in sorted({*folder.glob("verify.json"), *folder.glob("*/verify.json")}):
        try:
            verification = msgspec.json.decode(path.read_bytes(), type=Verification)
        except (OSError, ValueError, RecursionError):
            left_out[UNREADABLE] += 1
            continue
        pairs += pairs_of(path.parent.name, verification.tried)
        left_out.update(filter(None, map(why_left_out, verification.tried)))
    return Found(pairs, dict(left_out))


def pairs_below(folder: Path) -> list[Pair]:
    """The pairs alone."""
    return found_below(folder).pairs


def summary(pairs: Sequence[Pair]) -> Summary:
    """Raises ValueError if there are none."""
    if not pairs:
        raise ValueError("no pair")
    p50, p90 = np.percentile([abs(pair.error) for pair in pairs], [50, 90])
    told = [pair.inside for pair in pairs if pair.inside is not None]
    inside = float(np.mean(told)) if told else None
    return Summary(len(pairs), float(p50), float(p90), len(told), inside)
