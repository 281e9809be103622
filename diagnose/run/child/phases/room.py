"""Whether a recording leaves the script enough memory.

torch keeps some 1.1 kB for each operator while it records, and four times as much when the recording ends
(100,000 operators, torch 2.13: 110 MB, then 440). A step of a minute may call millions.
"""

from __future__ import annotations

import contextlib
import os

from ..facts.machine import available_memory_bytes
from ..memory.memory import resident_bytes

_AT_THE_END = 4  # times what was taken while it went on
PART = 0.5  # of what is available when it begins
_EVERY = 64  # calls
_GROUPS = "/sys/fs/cgroup"  # of a container, version 2
_NO_LIMIT = 1 << 62


class Room:
    """`begin` with a recording, then `is_short` after marked calls."""

    def __init__(self) -> None:
        self._before, self._most, self._calls = 0, _NO_LIMIT, 0

    def begin(self) -> None:
        self._most, self._calls = _NO_LIMIT, 0
        with contextlib.suppress(OSError):  # nobody tells: then there is no limit
            self._before = resident_bytes()
            self._most = int(available_bytes() * PART / _AT_THE_END)

    def is_short(self) -> bool:
        """Whether its end would take more than there may be; looked at now and then."""
        self._calls += 1
        return self._calls % _EVERY == 0 and resident_bytes() - self._before > self._most


def available_bytes() -> int:
    """That this process can still have without swapping."""
    free = available_memory_bytes() or _NO_LIMIT
    with contextlib.suppress(OSError, ValueError):  # "max" without a limit
        free = min(free, _number("memory.max") - _number("memory.current"))
    return max(0, free)


def _number(name: str) -> int:
    with open(os.path.join(_GROUPS, name), "rb") as file:
        return int(file.read())
