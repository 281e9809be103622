"""What the phases of a recording gave: of each name the best, in the files of the
rank's folder as soon as it is there.
"""

from __future__ import annotations

import os
from typing import Any

from .. import guard
from ..accelerator import Activities
from ..facts.facts import Facts
from ..processor import Processor
from ..recording.calls import write_calls
from ..recording.key_averages import EVENTS_AT_MOST, write_key_averages
from ..recording.recorder import Recording
from ..steps.ticks import PHASES
from ..writing import write_json

TIMELINE_FILE, DETAIL_FILE = "timeline.pt.trace.json.gz", "detail.pt.trace.json.gz"
CALLS_FILE, AVERAGES_FILE = "detail.calls.json", "key_averages.json"
_EARLY_EVENTS_AT_MOST = 5_000  # torch's own table of more takes too long while the script waits

Phase = dict[str, Any]  # as it stands in steps.json


class Results:
    """`thread`: the name of the one that trains.

    Of two phases of a name the later one counts, unless it was cut short and holds fewer steps.
    """

    def __init__(
        self,
        folder: str,
        facts: Facts,
        processor: Processor,
        *,
        clock: str,
        activities: Activities,
        thread: str,
    ) -> None:
        self._folder, self._facts, self._processor = folder, facts, processor
        self._clock, self._activities, self._thread = clock, activities, thread
        self._phases: dict[str, Phase] = {}  # by name
        self._notes: list[str] = []
        self.period = 1  # ticks a step
        self.tick_count = 0
        self.complete = False

    def note(self, sentence: str) -> None:
        if sentence not in self._notes:
            self._notes.append(sentence)

    def holds(self, name: str, *, cold: bool) -> bool:
        """Whether there is a recording of that name, and it was made before
        (`cold`) or after the script had warmed up.
        """
        return name in self._phases and self._phases[name]["cold"] is cold

    def keep(self, phase: Phase, *, is_whole: bool = False) -> None:
        """A phase without a recording; one without a step only tells how long the warm-up was. ``is_whole``:
        of the full round, until it had what it needed.
        """
        if (is_whole or self._counts(phase)) and (len(phase["tick_ns"]) > 1 or phase["name"] == "warmup"):
            self._phases[phase["name"]] = phase
        self.write()

    def keep_recording(self, recording: Recording, phase: Phase) -> None:
        """A phase with a recording, whose files are written. Raises OSError, RuntimeError."""
        if not self._counts(phase):
            return
        recorded_ticks = len(phase["tick_ns"]) - 1 + phase.get("dropped_ticks", 0)
        is_detail, steps = phase["name"] == "detail", max(1, recorded_ticks // self.period)
        phase["trace"] = DETAIL_FILE if is_detail else TIMELINE_FILE
        recording.export(os.path.join(self._folder, phase["trace"]))
        if is_detail:
            phase["calls"] = CALLS_FILE
            write_calls(recording.profiler, os.path.join(self._folder, CALLS_FILE), self._facts.places)
        else:
            most = _EARLY_EVENTS_AT_MOST if phase["cold"] else EVENTS_AT_MOST
            path = os.path.join(self._folder, AVERAGES_FILE)
            write_key_averages(
                recording.profiler, path, steps, cuda=self._activities.has_device, most_events=most
            )
        self._phases[phase["name"]] = phase
        self.write()

    def write(self) -> None:
        """All there is. Raises OSError; what fails beside steps.json is a note in it."""
        guard.attempt("writing the facts", lambda: self._facts.write(self._folder), None)
        guard.attempt("writing the processor's samples", lambda: self._processor.write(self._folder), None)
        steps = {
            "schema": 1,
            "clock": self._clock,
            "ticks_per_step": self.period,
            "tick_count": self.tick_count,
            "pid": os.getpid(),
            "thread": self._thread,
            "per_step": self._facts.calls.per_step(self._facts.recorded_steps),
            "phases": sorted(self._phases.values(), key=lambda phase: PHASES.index(phase["name"])),
            "complete": self.complete,
            "notes": [*self._notes, *guard.notes()],
        }
        write_json(os.path.join(self._folder, "steps.json"), steps)

    def _counts(self, phase: Phase) -> bool:
        """Whether it is to take the place of an earlier phase of that name: if
        it is warm, or holds as many steps.
        """
        earlier = self._phases.get(phase["name"])
        if earlier is None or (earlier.get("cold") and not phase.get("cold")):
            return True
        return phase["name"] != "warmup" and len(phase["tick_ns"]) >= len(earlier["tick_ns"])
