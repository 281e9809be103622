"""What a fix leaves of the time it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from diagnose.judge.rules import Saving
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing

Outcome = Literal["guess", "best", "worst"]
TRIED = "what the fix leaves was tried in this run"


def left_of(saving: Saving, measured: Measured, outcome: Outcome) -> float:
    """What is left of the edited time, 0-1, as the fix turns out.

    A metric that is missing is the middle of the range, or all of it.
    """
    if outcome != "guess" and saving.between is not None:
        return saving.between[0 if outcome == "best" else 1]
    guess = measured.number(saving.ratio) if isinstance(saving.ratio, str) else saving.ratio
    ends = saving.between or (0.0, 1.0)
    return (
        float(np.clip(guess, *ends))
        if np.isfinite(guess)
        else float(np.mean(ends) if saving.between else 1.0)
    )


def as_tried(saving: Saving, measured: Measured) -> Saving:
    """What the fix leaves, as this run has tried it; else as the rule has it."""
    left = measured.metric(saving.tried) if saving.tried else None
    if left is None or isinstance(left, Missing):
        return replace(saving, tried="")
    ratio = float(left)
    return replace(saving, ratio=ratio, between=(ratio, ratio), because=TRIED)
