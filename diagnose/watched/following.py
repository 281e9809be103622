"""What is new of a run that is being watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from diagnose.measure.recording import rank_folders
from diagnose.watched.log import Window, read_log

EVERY_S = 10.0


class Following:
    """Call it often: every ten seconds it gives each ``take(rank, window)`` the windows that have ended
    since, of all ranks below ``out``. Nothing of it is worth more than the run: a ``take`` that fails is
    called no more.
    """

    def __init__(
        self, out: Path, *takes: Callable[[int, Window], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out, self._takes, self._clock = out, list(takes), clock
        self._due = 0.0
        self._until: dict[int, int] = {}  # the step up to which each rank is told

    def __call__(self, *, at_once: bool = False) -> None:
        if not self._takes or (self._clock() < self._due and not at_once):
            return
        self._due = self._clock() + EVERY_S
        for rank, window in self._new():
            for take in list(self._takes):
                try:
                    take(rank, window)
                except Exception:
                    self._takes.remove(take)

    def _new(self) -> Iterator[tuple[int, Window]]:
        for rank, folder in rank_folders(self._out).items():
            log = read_log(folder, rank)
            for window in log.windows if log is not None else ():
                step = window.first + window.steps
                if step > self._until.get(rank, 0):
                    self._until[rank] = step
                    yield rank, window
