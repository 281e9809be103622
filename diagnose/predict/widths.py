"""How wide the range of a prediction is: by kind of prediction, from all that were ever held against a
measurement (`python -m benchmarks calibrate` writes widths.toml).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from diagnose.judge.rules import Saving

Kind = Literal["whole", "rewritten", "workers", "some-steps", "retimed"]
# whole: the work goes, but for little, or the run has tried what is left. rewritten: other work comes in its
# place, how much is the rule's guess. workers: loading moves into other processes, or back. some-steps: what
# only some have. retimed: the same work in another number format.
KINDS: tuple[Kind, ...] = ("whole", "rewritten", "workers", "some-steps", "retimed")
LITTLE_LEFT = 0.2  # of the edited time, up to which it counts as gone
GUESSED = 0.5  # of the edited time, between what is left at best and at worst: how much is not known
FILE = Path(__file__).with_name("widths.toml")


@dataclass(frozen=True)
class Width:
    """By what the odds of a prediction (its gain ÷ what is left of the step) are multiplied for the two ends
    of its range. ``pairs``: of a prediction and a measurement that say so; ``known``: they are enough,
    else it is the width of all kinds together.
    """

    low: float
    high: float
    pairs: int = 0
    known: bool = True

    def range_ms(self, gains_ms: tuple[float, ...], step_ms: float) -> tuple[float, float]:
        """What a fix gains at least and at most, from what it gains as its outcomes differ; ms of a step."""
        return (times_odds(min(gains_ms), step_ms, self.low), times_odds(max(gains_ms), step_ms, self.high))


def kind_of(saving: Saving) -> Kind:
    if saving.edit in ("overlap", "inline"):
        return "workers"
    if saving.scope == "average":
        return "some-steps"
    if saving.formats:
        return "retimed"
    rewritten = not saving.tried and saving.between and saving.between[1] > LITTLE_LEFT
    return "rewritten" if rewritten else "whole"


def is_guess(saving: Saving) -> bool:
    """Whether next to nothing is known of what is left."""
    best, worst = saving.between or (0.0, 0.0)
    return not saving.tried and worst - best > GUESSED


def times_odds(gain_ms: float, step_ms: float, factor: float) -> float:
    """The gain whose odds are so many times those of this one, between 0 and the step: a small gain grows
    by the factor, of a gain that is nearly all of the step what is left shrinks by it.
    """
    if gain_ms <= 0 or step_ms <= gain_ms:
        return max(0.0, gain_ms)
    odds = factor * gain_ms / (step_ms - gain_ms)
    return step_ms * odds / (1 + odds)


@cache
def widths() -> dict[Kind, Width]:
    told = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return msgspec.convert(told, dict[Kind, Width])


def width_of(saving: Saving) -> Width:
    return widths()[kind_of(saving)]
