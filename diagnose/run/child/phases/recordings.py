"""One recording after the other, each of a phase; between them there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ..accelerator import Activities, synchronize
from ..facts.facts import Facts
from ..recording.calibration import measured_costs
from ..recording.marks import Marks
from ..recording.other_profilers import OtherProfilers
from ..recording.recorded_phase import RecordedPhase
from ..recording.recorder import Recording
from .room import Room


class Recordings:
    """``now``: the phase that is being recorded, if one is. ``ticks``: recorded by all of them."""

    def __init__(
        self,
        marks: Marks,
        foreign: OtherProfilers,
        activities: Activities,
        facts: Facts,
        thread_ends: Callable[[], None],
    ) -> None:
        """`thread_ends` is called while one runs and its thread ends."""
        self._marks, self._foreign, self._activities, self._facts = marks, foreign, activities, facts
        self._thread_ends = thread_ends
        self._room, self._calibrated = Room(), False
        self.now: RecordedPhase | None = None
        self.ticks = 0

    @property
    def with_stacks(self) -> bool:
        """Whether one runs that records them."""
        return self.now is not None and self.now.recording.stacks

    @property
    def early(self) -> RecordedPhase | None:
        """The one that is being recorded, if it is made while the script warms up."""
        return self.now if self.now is not None and self.now.until is not None else None

    def calibrate(self) -> None:
        """Once, before anything is recorded; whether a device can be is known afterwards."""
        if self._calibrated:
            return
        self._calibrated = True
        self._facts.profiler_costs = (
            None if self._foreign.active else measured_costs(self._marks, self._activities)
        )

    def begin(
        self, name: str, first_tick: int, *, cold: bool, dropped_ticks: int = 0, until: int | None = None
    ) -> None:
        """Of a phase of that name; see `RecordedPhase`. A profiler of Python's that the script has set, as
        cProfile, would be taken off by a recording with stacks.
        """
        stacks = name == "detail" and sys.getprofile() is None
        recording = Recording(self._marks, self._foreign, self._activities, self._facts.heap, stacks=stacks)
        self._room.begin()
        self.now = RecordedPhase(
            name, first_tick, recording, self._facts, dropped_ticks=dropped_ticks, cold=cold, until=until
        )
        self.now.start(self._thread_ends)

    def tick(self, number: int) -> bool:
        """Whether the phase that is recorded begins to count only now."""
        assert self.now is not None
        self.ticks += 1
        return self.now.tick(number)

    def stop(self) -> RecordedPhase:
        """What has been recorded, with its recording stopped; the next one may begin."""
        recorded = self.now
        assert recorded is not None
        synchronize(self._activities.device)
        recorded.recording.stop()
        self.now = None  # until then a failure discards it
        return recorded

    def discard(self) -> None:
        """What is being recorded, if anything is."""
        recorded, self.now = self.now, None
        if recorded is not None:
            recorded.recording.discard()

    def take_too_much(self) -> bool:
        """Whether the end of the one that runs would take the memory that the script needs."""
        return self.now is not None and self.now.recording.is_of_this_thread and self._room.is_short()
