"""How far a recording is, and how long it will take: what its process
publishes, turned into steps and seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from diagnose.run.child import shared_state

FEWEST_STEPS = 2  # seen in a phase, before its own pace is believed


@dataclass(frozen=True)
class Stage:
    """What a recording is at; `text` is empty before the first step. `done` of `steps`, 0 where nobody knows
    how many it takes; `left_s`: until its end, None if unknown. `live`: how a run goes that is watched,
    and `alerts`: how often that was news.
    """

    text: str
    done: int = 0
    steps: int = 0
    left_s: float | None = None
    live: str = ""
    alerts: int = 0


class Stages:
    """Looks at the page that the recording's process writes."""

    def __init__(self, page: shared_state.SharedState, clock: Callable[[], float] = time.monotonic) -> None:
        self._page, self._clock = page, clock
        self._text, self._since, self._done_then = "", 0.0, 0  # of the stage, when it was first seen

    def now(self) -> Stage:
        seen, now = self._page.stage, self._clock()
        done = self._page.ticks // max(1, seen.ticks_per_step)
        if seen.text != self._text:
            self._text, self._since, self._done_then = seen.text, now, done
        since = done - self._done_then
        step_s = (now - self._since) / since if since >= FEWEST_STEPS else seen.step_ns / 1e9
        if live := self._page.live:
            return Stage(seen.text, done, live=live, alerts=self._page.alerts)
        if not seen.budget.steps or not step_s:
            return Stage(seen.text, done, seen.budget.steps)
        steps = seen.budget.expected_steps(round(1e9 * step_s))
        return Stage(seen.text, min(done, steps), steps, max(0, steps - done) * step_s)
