"""What the plain phase waits for beyond its budget: work of some steps only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from . import schedule
from .rare_work import RareWork
from .shared_state import Stage

_RARE = "timing plain steps, until what the script does seldom comes"
_AGAIN = "timing plain steps, until a long one comes back"


class Awaited:
    """`begin` with the phase, then `lacks` at each tick at which its budget is used up."""

    def __init__(self, rare_work: RareWork, announce: Callable[[Stage], None]) -> None:
        self._rare_work, self._announce = rare_work, announce
        self._announced = ""

    def begin(self) -> None:
        self._rare_work.begin()
        # None while nobody has asked, 0 where nothing is to come
        self._until_step: int | None = None

    def lacks(self, begins_ns: Sequence[int], pace_ns: int, *, may_wait: bool) -> bool:
        """Whether anything is worth more steps; ``begins_ns``: when they began, and the last one ended."""
        steps = len(begins_ns) - 1
        if self._comes_soon(steps, pace_ns, may_wait):
            return self._waits(_RARE)
        step_ns = [end - begin for begin, end in itertools.pairwise(begins_ns)]
        return may_wait and schedule.awaits_another(step_ns) and self._waits(_AGAIN)

    def _comes_soon(self, steps: int, pace_ns: int, may_wait: bool) -> bool:
        """What the loop's conditions tell of is awaited once, if that does not take long."""
        if self._until_step is None:
            limit = schedule.RARE_WORK_NS / max(1, pace_ns) if may_wait else 0
            soon = [math.ceil(to_come) for to_come in self._rare_work.look(steps) if to_come <= limit]
            self._until_step = steps + max(soon) if soon else 0
        elif self._until_step and steps >= self._until_step:
            self._until_step = 0
            self._rare_work.look(steps)  # it has come
        return steps < self._until_step

    def _waits(self, text: str) -> bool:
        if self._announced != text:
            self._announced = text
            self._announce(Stage(text))
        return True
