"""What only some steps have, as an evaluation or the end of an epoch, in ms of the average step. Two findings
may be about the same of it, one about all and one about a part: it counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Seldom:
    """A fix of it: ``saved_ms`` of ``of_ms``, ms of the average step. ``within``: rules about all of which
    this one is about a part.
    """

    rule: str
    of_ms: float
    saved_ms: float
    within: tuple[str, ...] = ()


def longer_ms(fixes: Iterable[Seldom]) -> float:
    """By which the average step is longer than a usual one, for what these are about."""
    fixes = list(fixes)
    return sum(max(0.0, fix.of_ms - sum(whole.of_ms for whole in _wholes(fix, fixes))) for fix in fixes)


def saved_ms(fixes: Iterable[Seldom]) -> float:
    """By all together: of what the others leave of the whole, a part's fix saves its share."""
    fixes = list(fixes)
    return sum(fix.saved_ms * _left(_wholes(fix, fixes)) for fix in fixes)


def _wholes(fix: Seldom, fixes: Sequence[Seldom]) -> list[Seldom]:
    return [other for other in fixes if other.rule in fix.within]


def _left(wholes: Sequence[Seldom]) -> float:
    of_ms = sum(whole.of_ms for whole in wholes)
    return 1 - sum(whole.saved_ms for whole in wholes) / of_ms if of_ms else 1.0
