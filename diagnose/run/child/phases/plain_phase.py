"""What is watched in the plain phase, where no profiler is: all of it together
costs a step a few µs (`python -m benchmarks hooks`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..facts.compiling import CompiledFrames
from ..facts.garbage import Garbage
from ..facts.losses import Losses
from ..facts.scaling import Scaling
from ..facts.usage import Usage
from ..guard import note
from ..lines.line_samples import LineSamples
from ..memory.memory import Memory
from ..places import Places


class _Watcher(Protocol):
    def begin(self) -> None: ...

    def stop(self) -> None:
        """The phase is over: take the hooks away."""

    def facts(self, steps: int) -> dict[str, Any]:
        """What was seen in that many steps."""


class PlainPhase:
    """Leads the watchers through the phase; one that fails is left out, and its facts are missing."""

    def __init__(self, place_for: Callable[[str], tuple[Any, str]], places: Places) -> None:
        self.facts: dict[str, Any] = {}
        self._memory = Memory()
        self._all: tuple[_Watcher, ...] = (
            Losses(place_for),
            Scaling(),
            CompiledFrames(),
            self._memory,
            Usage(),
            LineSamples(places),
            Garbage(places),  # begun last and stopped first: what ours leave is not the script's
        )
        self._watching: list[_Watcher] = []

    def begin(self) -> None:
        for watcher in self._all:
            try:
                watcher.begin()
                self._watching.append(watcher)
            except Exception as error:
                note(_about(watcher), error)

    def step(self, number: int, now_ns: int) -> None:
        """That many steps of the phase have ended; not told of every one."""
        if self._memory in self._watching:
            try:
                self._memory.step(number, now_ns)
            except Exception as error:
                note(_about(self._memory), error)
                self._watching.remove(self._memory)

    def end(self, steps: int) -> None:
        """Harmless when the phase has ended already. Without a whole step there are no facts."""
        while self._watching:
            watcher = self._watching.pop()
            try:
                watcher.stop()
                self.facts.update(watcher.facts(steps) if steps else {})
            except Exception as error:
                note(_about(watcher), error)


def _about(watcher: _Watcher) -> str:
    return f"watching plain steps ({type(watcher).__name__.lower()})"
