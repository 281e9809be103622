"""Where epochs begin: in which steps a loader was begun anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from diagnose.measure.recording import Recording


def epoch_begins(recording: Recording, loader: dict[str, Any]) -> np.ndarray:
    """The numbers of the steps in which the loader was begun, rising; empty where that was not recorded.

    The tick with number n ends the step with number n ÷ ticks per step: with one tick a step,
    number 0 is the step of the first batch.
    """
    return np.unique(_steps_of_starts(recording, loader))


def starts_each_epoch(recording: Recording, loader: dict[str, Any]) -> float:
    """How often the loader is begun where an epoch begins: twice if its data are evaluated after each epoch,
    too. 1 where that was not recorded.
    """
    _, counts = np.unique(_steps_of_starts(recording, loader), return_counts=True)
    return float(np.median(counts)) if len(counts) else 1.0


def _steps_of_starts(recording: Recording, loader: dict[str, Any]) -> np.ndarray:
    starts_ns = np.asarray(loader.get("iterator_start_ns") or [], np.int64)
    numbers, tick_ns = _ticks(recording)
    ends_with = np.searchsorted(tick_ns, starts_ns)
    return np.asarray(numbers[ends_with[ends_with < len(numbers)]] // recording.ticks_per_step)


def _ticks(recording: Recording) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and times (ns, on the host's clock) of all ticks of all phases, each once;
    phases that follow each other share one.
    """
    at = {
        phase["first_tick"] + number: ns
        for phase in recording.clock.get("phases", [])
        for number, ns in enumerate(phase["tick_ns"])
    }
    numbers = sorted(at)
    return np.asarray(numbers, np.int64), np.asarray([at[number] for number in numbers], np.int64)


def steps_since(begins: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """For each step, by its number, how many steps ago the latest of ``begins`` was; nan before the first."""
    latest = np.searchsorted(begins, numbers, "right") - 1
    return np.where(latest >= 0, numbers - begins[latest], np.nan)
