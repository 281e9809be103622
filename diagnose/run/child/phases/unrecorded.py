"""What steps use before anything is recorded.

On the processor malloc may give memory back in each step until a recording has left something in its heap,
and no more from then on. So the first recording waits for some steps where memory has been given back by the
first tick, and enough steps are promised.
"""

from __future__ import annotations

from typing import Any

from ..facts.usage import Usage
from ..guard import guarded
from ..memory.heap_as_it_was import HeapAsItWas
from ..places import Places
from ..source.epochs import rounds_left
from . import schedule

_PAGE_BYTES = 4096  # of the smallest pages


class Unrecorded:
    """`begin` at the first tick; then told of each further one while it `waits`."""

    def __init__(self, heap: HeapAsItWas) -> None:
        self.waits = False
        self._heap = heap
        self._usage = Usage()
        self._first_ns = self._ticks = 0

    @guarded("looking whether memory is given back")
    def begin(self, now_ns: int, steps_left: int | None, places: Places) -> None:
        """``steps_left``: that the DataLoader has at least; a loop of the script's may tell of more."""
        promised = schedule.PROMISED_TICKS
        self.waits = self._heap.look() and ((steps_left or 0) >= promised or rounds_left(places) >= promised)
        self._first_ns = now_ns

    def tick(self, number: int, now_ns: int) -> bool:
        """Whether to wait on. Not where a step takes long: somebody may end the script by hand."""
        if number == 1:
            self.waits = now_ns - self._first_ns <= schedule.WAITED_FOR_NS
            self._usage.begin()
        elif number == schedule.WAITED_TICKS:
            self._usage.stop()
            self.waits, self._ticks = False, number - 1
            self._heap.count(self._page_faults())
        return self.waits

    def _page_faults(self) -> float:
        """Of a tick, without those by which the process has grown: it needs these anyway."""
        usage = self._usage.facts(self._ticks)["plain_usage"]
        grown_pages = max(0.0, usage["resident_growth_bytes_per_step"]) / _PAGE_BYTES
        return float(usage["page_faults_per_step"] - grown_pages)

    def facts(self, period: int) -> dict[str, Any]:
        """Of a step of so many ticks; empty if nothing was waited for."""
        if not self._ticks:
            return {}
        return {"unrecorded_usage": self._usage.facts(self._ticks / period)["plain_usage"]}
