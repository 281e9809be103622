"""Whether a fix leaves the script's results as they were: its data, its losses, what its model returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from diagnose.verify.timing import Trial

# How far losses may deviate, relative to the larger of the loss and 1 % of the first one. A fix in 16 bits rounds each value to 2^-8
# (bfloat16's 8 bits of significand); the others reorder sums of float32 or round to TF32's 2^-11. Training amplifies both.
TOLERANCES = {"autocast": 0.05}
TOLERANCE = 0.01

Agreement = Literal["same", "close", "differ", "unsteady", "unknown"]


@dataclass(frozen=True)
class Results:
    """`agreement`: same to the bit; close, within `tolerance`; differ; unsteady, where the unchanged script differs from run to run by
    itself; unknown, where there is nothing to compare. `deviation` is the largest of the `compared` losses'."""

    agreement: Agreement
    compared: int
    deviation: float | None
    tolerance: float
    same_data: bool | None


def results(before: Trial, again: Trial, after: Trial, intervention: str) -> Results:
    """Of two runs of the script as it is, and one with the fix."""
    tolerance = TOLERANCES.get(intervention, TOLERANCE)
    mine, theirs = _signature(before), _signature(after)
    count = min(len(mine), len(theirs))
    same_data = _begins_alike(before["batch_hashes"], after["batch_hashes"])
    if not count:
        return Results("unknown", 0, None, tolerance, same_data)
    deviation = _deviation(mine[:count], theirs[:count])
    if mine[:count] == theirs[:count]:
        agreement: Agreement = "same"
    elif not _begins_alike(mine, _signature(again)):
        agreement = "unsteady"
    elif deviation is not None and deviation <= tolerance:
        agreement = "close"
    else:
        agreement = "differ"
    return Results(agreement, count, deviation, tolerance, same_data)


def data_differ(before: Trial, after: Trial) -> bool:
    """The batches of the two runs are known, and not the same."""
    return _begins_alike(before["batch_hashes"], after["batch_hashes"]) is False


def _signature(trial: Trial) -> list[float] | list[str]:
    """The losses, where there are any; else what the model returned."""
    return trial["losses"] or trial["outputs"] or []


def _begins_alike(mine: list, theirs: list) -> bool | None:
    count = min(len(mine), len(theirs))
    return mine[:count] == theirs[:count] if count else None


def _deviation(mine: list, theirs: list) -> float | None:
    """The largest, relative; infinite where only one of two is a number; None of things that are no numbers."""
    if isinstance(mine[0], str):
        return 0.0 if mine == theirs else None
    floor = 0.01 * abs(mine[0]) if math.isfinite(mine[0]) else 0.0
    return max(_relative(one, other, floor) for one, other in zip(mine, theirs, strict=True))


def _relative(mine: float, theirs: float, floor: float) -> float:
    if mine == theirs or (math.isnan(mine) and math.isnan(theirs)):
        return 0.0
    if not (math.isfinite(mine) and math.isfinite(theirs)):
        return math.inf
    return abs(mine - theirs) / max(abs(mine), floor, 1e-12)
