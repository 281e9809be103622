"""Predicted savings next to measured ones, of all fixes that were verified."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diagnose.verify.measured_savings import FASTER, REFUTED


@dataclass(frozen=True)
class Pair:
    """Savings in ms per step: least, best guess, most. `before_ms`: the measured step without the fix."""

    run: str
    rule: str
    before_ms: float
    predicted_ms: tuple[float, float, float]
    measured_ms: tuple[float, float, float]

    @property
    def error(self) -> float:
        """Of the step with the fix, as a share of the measured one."""
        after_ms = self.before_ms - self.measured_ms[1]
        return (self.measured_ms[1] - self.predicted_ms[1]) / after_ms

    @property
    def inside(self) -> bool:
        """Whether the measured saving is in the predicted range, as far as the measurement can tell."""
        return self.predicted_ms[0] <= self.measured_ms[2] and self.measured_ms[0] <= self.predicted_ms[2]


@dataclass(frozen=True)
class Summary:
    count: int
    p50: float
    p90: float
    inside: float


def pairs_of(run: str, proof: dict[str, Any]) -> list[Pair]:
    """Of the fixes with a prediction and a verdict on their time."""
    return [
        Pair(
            run,
            one["rule"],
            one["change"]["before_ms"],
            tuple(one["predicted_ms"][name] for name in ("low", "best_guess", "high")),
            tuple(one["change"]["saved_ms"]),
        )
        for one in proof["tried"]
        if one["predicted_ms"] and one["verdict"] in (FASTER, *REFUTED)
    ]


def pairs_below(folder: Path) -> list[Pair]:
    """Of all verified runs in a folder, or of the run folder itself.

    One that cannot be read counts for nothing.
    """
    pairs = []
    for path in sorted({*folder.glob("verify.json"), *folder.glob("*/verify.json")}):
        try:
            pairs += pairs_of(path.parent.name, json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return pairs


def summary(pairs: Sequence[Pair]) -> Summary:
    """Raises ValueError if there are none."""
    if not pairs:
        raise ValueError("no pair")
    p50, p90 = np.percentile([abs(pair.error) for pair in pairs], [50, 90])
    return Summary(len(pairs), float(p50), float(p90), float(np.mean([pair.inside for pair in pairs])))
