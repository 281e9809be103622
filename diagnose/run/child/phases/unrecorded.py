"""What steps use before anything is recorded.

On the processor malloc may give memory back in each step until a recording has left something in its heap,
and no more from then on. So the first recording waits for some steps where enough are promised.
"""

from __future__ import annotations

from typing import Any

from ..facts.usage import Usage
from . import schedule


class Unrecorded:
    """Told of each tick of the warm-up while `waits`."""

    def __init__(self) -> None:
        self.waits = False
        self._usage = Usage()
        self._first_ns = self._ticks = 0

    def tick(self, number: int, now_ns: int) -> bool:
        """Whether to wait on. Not where a step takes long: somebody may end the script by hand."""
        if number == 0:
            self._first_ns = now_ns
        elif number == 1:
            self.waits = now_ns - self._first_ns <= schedule.WAITED_FOR_NS
            self._usage.begin()
        elif number == schedule.WAITED_TICKS:
            self._usage.stop()
            self.waits, self._ticks = False, number - 1
        return self.waits

    def facts(self, period: int) -> dict[str, Any]:
        """Of a step of so many ticks; empty if nothing was waited for."""
        if not self._ticks:
            return {}
        return {"unrecorded_usage": self._usage.facts(self._ticks / period)["plain_usage"]}
