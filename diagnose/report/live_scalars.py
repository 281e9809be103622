"""Scalars of a run that is being watched, for a TensorBoard that is open meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from diagnose.report.tensorboard import event_file, scalar
from diagnose.watched.log import Window

_SCALARS: dict[str, tuple[Callable[[Window], float | None], str]] = {
    "watched/step_ms": (lambda window: window.mean_ms, "The average step, ms"),
    "watched/typical_step_ms": (lambda window: window.median_ms, "The median step, ms"),
    "watched/samples_per_s": (lambda window: window.samples_per_s, "Samples a second of this process"),
    "watched/input_wait_share": (lambda window: window.input_share, "Of the step: waiting for batches, 0–1"),
    "watched/lost_share": (
        lambda window: window.lost_share,
        "Of the time: what slow steps took beyond usual ones, 0–1",
    ),
    "watched/memory_bytes": (lambda window: window.memory_bytes, "Memory in use, bytes"),
}


class LiveScalars:
    """A run of TensorBoard for each rank: ``out/tb/watched…``."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._files: dict[int, tuple[IO[bytes], Any]] = {}  # by rank, with its writer

    def take(self, rank: int, window: Window) -> None:
        """Raises OSError."""
        if rank not in self._files:
            name = "watched" if rank == 0 else f"watched_rank{rank}"
            self._files[rank] = event_file(self._out / "tb" / name)
        file, write = self._files[rank]
        for tag, (value_of, description) in _SCALARS.items():
            value = value_of(window)
            if value is not None:
                write(window.first + window.steps, scalar(tag, value, description))
        file.flush()

    def close(self) -> None:
        """Harmless when repeated."""
        for file, _ in self._files.values():
            with suppress(OSError):
                file.close()
        self._files.clear()
