"""Whether a fix leaves the script's results as they were: its data, its losses, what its model returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from diagnose.fixes.fix import TOLERANCE
from diagnose.verify.timing import Trial

OWN_DEVIATIONS = 10  # between two runs of a script that differs by itself, within which a fix changes nothing
FLOOR = 0.01  # of the first loss: one that has become small counts as much

Agreement = Literal["same", "close", "differ", "other_data", "unsteady", "unknown"]


@dataclass(frozen=True)
class Results:
    """`agreement`: same to the bit; close, within `tolerance`; differ; other_data, where the fix makes the
    script see other batches; unsteady, where the unchanged script differs from run to run by itself, and with
    the fix not by far more; unknown, where there is nothing to compare. `deviation` is the largest of the
    `compared` losses'.
    """

    agreement: Agreement
    compared: int
    deviation: float | None
    tolerance: float


def results(before: Trial, again: Trial, after: Trial, tolerance: float = TOLERANCE) -> Results:
    """Of two runs of the script as it is, and one with the fix."""
    mine, theirs = _signature(before), _signature(after)
    count = min(len(mine), len(theirs))
    if data_differ(before, after) and not data_differ(before, again):
        return Results("other_data", 0, None, tolerance)
    if not count:
        return Results("unknown", 0, None, tolerance)
    repeated = _signature(again)
    deviation = _deviation(mine, theirs)
    if _begins_alike(mine, theirs):
        agreement: Agreement = "same"
    elif deviation > max(tolerance, OWN_DEVIATIONS * _deviation(mine, repeated)):
        agreement = "differ"
    elif not _begins_alike(mine, repeated):
        agreement = "unsteady"
    else:
        agreement = "close"
    return Results(agreement, count, deviation, tolerance)


def data_differ(before: Trial, after: Trial) -> bool:
    """The batches of the two runs are known, and not the same."""
    return _begins_alike(before["batch_hashes"], after["batch_hashes"]) is False


def _signature(trial: Trial) -> list:
    """The losses, where there are any; else what the model returned: digests with some values."""
    return trial["losses"] or trial["outputs"] or []


def _begins_alike(mine: list, theirs: list) -> bool | None:
    """As far as both go; None if one is empty.

    By what they look like: floats are written exactly, and nan is like nan.
    """
    count = min(len(mine), len(theirs))
    return repr(mine[:count]) == repr(theirs[:count]) if count else None


def _deviation(mine: list, theirs: list) -> float:
    if not mine or not theirs:
        return 0.0
    return (_deviation_of_losses if isinstance(mine[0], float) else _deviation_of_outputs)(mine, theirs)


def _deviation_of_losses(mine: list[float], theirs: list[float]) -> float:
    """The largest; a loss that has become small counts as 1 % of the first."""
    floor = FLOOR * abs(mine[0]) if math.isfinite(mine[0]) else 0.0
    return max(_relative(one, other, floor) for one, other in zip(mine, theirs, strict=False))


def _deviation_of_outputs(mine: list, theirs: list) -> float:
    """The largest, relative to the largest value of that output."""
    deviations = [0.0]
    for (_, values), (_, others) in zip(mine, theirs, strict=False):
        if len(values) != len(others):
            return math.inf
        largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        deviations += [_relative(value, other, largest) for value, other in zip(values, others, strict=True)]
    return max(deviations)


def _relative(mine: float, theirs: float, floor: float) -> float:
    """Infinite where only one of two is a number."""
    if mine == theirs or (math.isnan(mine) and math.isnan(theirs)):
        return 0.0
    if not (math.isfinite(mine) and math.isfinite(theirs)):
        return math.inf
    return abs(mine - theirs) / max(abs(mine), floor, 1e-12)
