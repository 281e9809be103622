"""Processor time of this process and its children, at a few steps of its run."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from pathlib import Path


class WorkSamples:
    """``samples``: tick, and the processor time used until then, ns; none where the kernel does not tell.

    A sample takes some 100 us for each child: taken within the steps that are timed, many would be told as
    the cost of workers.
    """

    def __init__(self) -> None:
        self.samples: list[tuple[int, int]] = []

    def sample(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self.samples.append((number, used_ns()))


def used_ns() -> int:
    """Of all threads of this process, its children that ended and were waited for, and those that live.

    Raises OSError.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended_ns = int((ended.ru_utime + ended.ru_stime) * 1e9)
    return time.process_time_ns() + ended_ns + sum(map(_process_ns, _children("self")))


def _children(process: str) -> list[int]:
    """All below it."""
    found: list[int] = []
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            told = Path(f"/proc/{process}/task/{thread}/children").read_text().split()
        except OSError:  # a thread that just ended, or a kernel without the file
            continue
        for child in told:
            found.append(int(child))
            try:
                found += _children(child)
            except OSError:  # it just ended
                continue
    return found


def _process_ns(process: int) -> int:
    """0 of one that just ended: once waited for it is among those that ended.

    The clock of a process is its number inverted, three bits up, and 2 for the time that it ran
    (clock_getcpuclockid(3)).
    """
    try:
        return time.clock_gettime_ns((~process << 3) | 2)
    except OSError:
        return 0
