"""What the plain phase waits for beyond its budget: work of some steps only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from ..shared_state import Stage
from ..source.rare_work import RareWork
from . import schedule

_RARE = "timing plain steps, until what the script does seldom comes"
_AGAIN = "timing plain steps, until a long one comes back"
_UNSURE = "timing more plain steps, for they differ"
_LATER = 1.1  # times as many steps, before their length is looked at again: that takes time


class Awaited:
    """`begin` with the phase, then `lacks` at each tick at which its budget is used up.

    ``left``: steps that the DataLoader has left at least, None where nobody knows. ``longest_s``: what the
    source of the loops tells of is waited for so long at most.
    """

    def __init__(self, rare_work: RareWork, announce: Callable[[Stage], None], longest_s: float) -> None:
        self._rare_work, self._announce, self._longest_ns = rare_work, announce, longest_s * schedule.SECOND
        self._announced = ""

    def begin(self, left: int | None) -> None:
        self._rare_work.begin(left)
        # None while nobody has asked, 0 where nothing is to come
        self._until_step: int | None = None
        self._look_at, self._differ = 0, False

    def lacks(
        self, begins_ns: Sequence[int], pace_ns: int, left: int | None, *, may_wait: bool, is_first: bool
    ) -> bool:
        """Whether anything is worth more steps; ``begins_ns``: when they began, and the last one ended.
        ``is_first``: nothing is recorded yet, so enough steps have to follow.
        """
        steps, enough = len(begins_ns) - 1, schedule.steps_after(pace_ns) if is_first else 1
        limit = self._longest_ns / max(1, pace_ns) if may_wait else 0.0
        if self._comes_soon(steps, limit, enough, left):
            return self._waits(_RARE)
        step_ns = [end - begin for begin, end in itertools.pairwise(begins_ns)]
        if may_wait and schedule.awaits_another(step_ns):
            return self._waits(_AGAIN)
        goes_on = not is_first or (left is not None and left >= enough)
        if steps >= self._look_at:
            self._look_at, self._differ = math.ceil(_LATER * steps), schedule.is_unsure(step_ns)
        return may_wait and goes_on and self._differ and self._waits(_UNSURE)

    def _comes_soon(self, steps: int, limit: float, then: int, left: int | None) -> bool:
        """What the loops tell of is awaited once, if that does not take long and so many steps follow."""
        if self._until_step is None:
            soon = [
                math.ceil(coming.in_steps)
                for coming in self._rare_work.look(steps, left)
                if coming.in_steps <= limit and coming.then_steps >= then
            ]
            self._until_step = steps + max(soon) if soon else 0
        elif self._until_step and steps >= self._until_step:
            self._until_step = 0
            self._rare_work.look(steps, left)  # it has come
        return steps < self._until_step

    def _waits(self, text: str) -> bool:
        if self._announced != text:
            self._announced = text
            self._announce(Stage(text))
        return True
