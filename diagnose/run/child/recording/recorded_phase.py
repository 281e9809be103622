"""A phase with a recording: what is noted at its ticks, and how it stands in steps.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..facts.facts import Facts
from .recorder import Recording, mark_tick


class RecordedPhase:
    """From `start` until its recording is stopped; then it can be told, with its trace exported by others.

    ``first_tick``: with which it begins to count; ``dropped_ticks`` come before it. ``until``: the tick
    with which a recording ends that is made while the script warms up; None of others.
    """

    def __init__(
        self,
        name: str,
        first_tick: int,
        recording: Recording,
        facts: Facts,
        *,
        dropped_ticks: int = 0,
        cold: bool = False,
        until: int | None = None,
    ) -> None:
        self.name, self.first_tick, self.recording, self.until = name, first_tick, recording, until
        self._facts, self._dropped_ticks, self._cold = facts, dropped_ticks, cold
        self._elements: list[tuple[int, int]] = []  # of each tick, see `taken_elements`

    def start(self, thread_ends: Callable[[], None]) -> None:
        """See `Recording.start`."""
        self._facts.calls.begin()
        self._facts.calls.look_closely = self.recording.stacks
        self.recording.start(None if self._dropped_ticks else self.first_tick, thread_ends)

    def tick(self, number: int) -> bool:
        """Whether the phase begins to count only now: what came before it is dropped."""
        if number >= self.first_tick:
            mark_tick(number)
        calls = self._facts.calls
        calls.look_closely = False  # one step is enough
        self._facts.uploads.step_ended()
        calls.feeding.tick()
        self._elements.append(calls.taken_elements())
        begins = bool(self._dropped_ticks) and number == self.first_tick
        if begins:
            self._elements = []
        return begins

    def told(self, tick_ns: Sequence[int]) -> dict[str, Any]:
        """As in steps.json."""
        told = {
            "name": self.name,
            "first_tick": self.first_tick,
            "tick_ns": tick_ns,
            "input_elements": [of_all for of_all, _ in self._elements],
            "sequence_elements": [of_sequences for _, of_sequences in self._elements],
            "cold": self._cold,
        }
        return told | ({"dropped_ticks": self._dropped_ticks} if self._dropped_ticks else {})
