"""What steps use before anything is recorded.

On the processor malloc may give memory back in each step until a recording has left something in its heap,
and no more from then on. So the first recording waits for some steps where memory has been given back by the
first tick, and enough steps are promised.
"""

from __future__ import annotations

from typing import Any

from ..facts.usage import Usage, resident_bytes
from ..guard import guarded
from ..memory.heap import is_as_it_comes
from ..memory.memory import peak_resident_bytes
from ..places import Places
from ..source.epochs import rounds_left
from . import schedule

_GIVEN_BACK_BYTES = 1 << 20


class Unrecorded:
    """`begin` at the first tick; then told of each further one while it `waits`."""

    def __init__(self) -> None:
        self.waits = False
        self._usage = Usage()
        self._first_ns = self._ticks = 0

    @guarded("looking whether memory is given back")
    def begin(self, now_ns: int, steps_left: int | None, places: Places) -> None:
        """``steps_left``: that the DataLoader has at least; a loop of the script's may tell of more."""
        given_back = is_as_it_comes() and peak_resident_bytes() - resident_bytes() >= _GIVEN_BACK_BYTES
        promised = schedule.PROMISED_TICKS
        self.waits = given_back and ((steps_left or 0) >= promised or rounds_left(places) >= promised)
        self._first_ns = now_ns

    def tick(self, number: int, now_ns: int) -> bool:
        """Whether to wait on. Not where a step takes long: somebody may end the script by hand."""
        if number == 1:
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
