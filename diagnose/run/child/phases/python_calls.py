"""Of how many steps a detail may be. For each call of Python torch keeps 24 bytes while it records stacks,
1,500 once that ends (3 million calls, torch 2.13: 72 MB, then 4.5 GB), and reading them takes minutes.
There is no other way to end it. So calls are counted before, where there may be too many.
"""

from __future__ import annotations

import sys
from typing import Any

from ..guard import guarded
from .room import PART, available_bytes
from .schedule import SECOND, Round, with_detail

_CALL_BYTES = 1_560
_CALLS_AT_MOST = 1_000_000  # of a recording
_CALLS_OF_ONE_STEP = 4_000_000  # two minutes, for lines that would not be known otherwise
_CALLS_PER_S = 5_000_000  # of functions that do something; empty ones are called up to five times as often


class PythonCalls:
    """`count` a tick of the warm-up, which `end` ends; then, or without it, ask for `steps_that_fit`, or have
    all rounds `limited`.
    """

    def __init__(self, detail_steps: int) -> None:
        """``detail_steps``: of the full round."""
        self._detail_steps = detail_steps
        self._profile: Any = None
        self._of_tick: int | None = None

    @guarded("counting calls")
    def count(self, step_ns: int) -> None:
        """Of the tick that begins, unless a whole detail fits anyway, or another profiler is at work."""
        if self._of_tick is not None or sys.getprofile():
            return
        if self.steps_that_fit(step_ns, 1, self._detail_steps) < self._detail_steps:
            from cProfile import Profile  # hardly ever

            self._profile = Profile()
            self._profile.enable()

    @guarded("counting calls")
    def end(self) -> None:
        """Harmless when repeated."""
        profile, self._profile = self._profile, None
        if profile is not None:
            profile.disable()
            self._of_tick = sum(entry.callcount for entry in profile.getstats())

    def limited(self, rounds: list[Round], step_ns: int, ticks: int) -> list[Round]:
        """The same rounds, with details that are not too much: shorter ones or none."""
        brief, last = (
            self.steps_that_fit(step_ns, ticks, self._detail_steps, last=is_last) for is_last in (False, True)
        )
        return with_detail(rounds[:-1], brief) + with_detail(rounds[-1:], last)

    def steps_that_fit(self, step_ns: int, ticks: int, steps: int, *, last: bool = False) -> int:
        """Of ``steps`` with so many ticks each, none where one is too much. What was not counted is taken to
        be as much as the time allows. ``last``: no other detail follows, so that one step may take longer.
        """
        calls = _CALLS_PER_S * step_ns / SECOND
        if self._of_tick is not None:
            calls = min(calls, self._of_tick * ticks)
        most = available_bytes() * PART / _CALL_BYTES
        if last and _CALLS_AT_MOST < calls <= min(most, _CALLS_OF_ONE_STEP):
            return 1
        return min(steps, int(min(most, _CALLS_AT_MOST) / calls)) if calls else steps
