"""Scalars of a run that is being watched, for a TensorBoard that is open meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from diagnose.measure.recording import rank_folders
from diagnose.report.tensorboard import event_file, scalar
from diagnose.watched.log import Window, read_log

EVERY_S = 10.0

_SCALARS: dict[str, tuple[Callable[[Window], float | None], str]] = {
    "watched/step_ms": (lambda window: window.mean_ms, "The average step, ms"),
    "watched/typical_step_ms": (lambda window: window.median_ms, "The median step, ms"),
    "watched/input_wait_share": (
        lambda window: window.input_ms / window.mean_ms,
        "Of the step: waiting for batches, 0–1",
    ),
    "watched/lost_share": (
        lambda window: window.lost_ms / 1000 / window.s,
        "Of the time: what slow steps took beyond usual ones, 0–1",
    ),
    "watched/memory_bytes": (lambda window: window.memory_bytes, "Memory in use, bytes"),
}


class LiveScalars:
    """Call it often: every ten seconds it adds what is new of the run in ``out`` to ``out/tb/watched…``, a
    run of TensorBoard for each rank. Nothing of it is worth more than the run: what fails ends it.
    """

    def __init__(self, out: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._due = 0.0
        self._files: dict[int, tuple[IO[bytes], Any]] = {}  # by rank, with its writer
        self._until: dict[int, int] = {}  # the step up to which each rank is told
        self._over = False

    def __call__(self, *, at_once: bool = False) -> None:
        if self._over or (self._clock() < self._due and not at_once):
            return
        self._due = self._clock() + EVERY_S
        try:
            for rank, folder in rank_folders(self._out).items():
                self._add(rank, folder)
        except Exception:
            self.close()

    def close(self) -> None:
        """Harmless when repeated."""
        self._over = True
        for file, _ in self._files.values():
            with suppress(OSError):
                file.close()
        self._files.clear()

    def _add(self, rank: int, folder: Path) -> None:
        log = read_log(folder, rank)
        if log is None:
            return
        if rank not in self._files:
            name = "watched" if rank == 0 else f"watched_rank{rank}"
            self._files[rank] = event_file(self._out / "tb" / name)
        file, write = self._files[rank]
        for window in log.windows:
            step = window.first + window.steps
            if step <= self._until.get(rank, 0):
                continue
            self._until[rank] = step
            for tag, (value_of, description) in _SCALARS.items():
                value = value_of(window)
                if value is not None:
                    write(step, scalar(tag, value, description))
        file.flush()
