"""The ticks of the phase in progress, in a page of memory that is a file: what was timed is
there even if the process is killed.

Standard library only: the parent reads the same page.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import NamedTuple

from ..writing import reserve

FILE = "ticks.bin"
PHASES = ("warmup", "plain", "parts", "timeline", "detail")
_WORD = struct.Struct("<q")
_HEAD = struct.Struct("<qqq")  # number of the phase from 1 on, its first tick, how many ticks follow
_TICKS_AT_MOST = 8_189
_SIZE = _HEAD.size + _WORD.size * _TICKS_AT_MOST


class Progress(NamedTuple):
    """A phase that was not over: its name, the number of its first tick, and when
    its ticks were (`perf_counter_ns`).
    """

    name: str
    first_tick: int
    tick_ns: list[int]


class TickLog:
    """Writing. A phase with more ticks than there is room for keeps its first ones."""

    def __init__(self, folder: str) -> None:
        """Raises OSError."""
        self._path = os.path.join(folder, FILE)
        with open(self._path, "wb+") as file:
            reserve(file.fileno(), _SIZE)
            self._page = mmap.mmap(file.fileno(), _SIZE)
        self._words = memoryview(self._page).cast("q")
        self._count = 0

    def begin(self, phase: str, first_tick: int, tick_ns: int) -> None:
        """A phase begins with this tick; what was logged before is forgotten."""
        self._words[2] = 0
        self._words[1], self._words[0] = first_tick, 1 + PHASES.index(phase)
        self._count = 0
        self.add(tick_ns)

    def add(self, tick_ns: int) -> None:
        count = self._count
        if count < _TICKS_AT_MOST:
            self._words[3 + count] = tick_ns
            self._count = self._words[2] = count + 1

    def move_last(self, tick_ns: int) -> None:
        """The step that began with the last tick begins later."""
        if self._count < _TICKS_AT_MOST:
            self._words[2 + self._count] = tick_ns

    def remove(self) -> None:
        """All phases are over and written."""
        os.remove(self._path)


def read_ticks(folder: str) -> Progress | None:
    """What a killed process left; None if nothing is there. Raises OSError."""
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            page = file.read(_SIZE)
    except FileNotFoundError:
        return None
    if len(page) < _HEAD.size:
        return None
    phase, first_tick, count = _HEAD.unpack_from(page)
    if not (1 <= phase <= len(PHASES) and 0 < count <= (len(page) - _HEAD.size) // _WORD.size):
        return None
    ticks = [_WORD.unpack_from(page, _HEAD.size + _WORD.size * number)[0] for number in range(count)]
    return Progress(PHASES[phase - 1], first_tick, ticks)
