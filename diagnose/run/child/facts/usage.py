"""What the plain phase used of the machine: processor, storage, swap."""

from __future__ import annotations

import os
import resource
import sys
from time import perf_counter, process_time
from typing import Any, NamedTuple

_PAGE = resource.getpagesize()


class Usage:
    """Counters of the kernel, read at both ends of the phase."""

    def begin(self) -> None:
        self._before = read_counters()

    def stop(self) -> None:
        self._after = read_counters()

    def facts(self, steps: float) -> dict[str, Any]:
        before, after = self._before, self._after
        seconds = after.seconds - before.seconds
        return {
            "plain_usage": {
                "cpu_cores_used": (after.processor_s - before.processor_s) / seconds,
                "machine_busy_share": _share(before, after, after.busy, before.busy),
                "iowait_share": _share(before, after, after.iowait, before.iowait),
                "read_bytes_per_s": _difference(after.read_bytes, before.read_bytes, seconds),
                "swap_in_bytes_per_s": _difference(after.swapped_in_bytes, before.swapped_in_bytes, seconds),
                "involuntary_switches_per_step": (after.switches - before.switches) / steps,
                "page_faults_per_step": (after.page_faults - before.page_faults) / steps,
                "system_ms_per_step": 1e3 * (after.system_s - before.system_s) / steps,
                "resident_growth_bytes_per_step": (after.resident_bytes - before.resident_bytes) / steps,
            }
        }


class UsedSoFar(NamedTuple):
    """`None` where the kernel does not tell.

    `busy`, `iowait` and `total` are of all processors, in its own unit.
    """

    seconds: float
    processor_s: float
    switches: int
    page_faults: int  # served without storage
    system_s: float  # that the kernel worked for this process
    resident_bytes: int
    busy: int | None
    iowait: int | None
    total: int | None
    read_bytes: int | None
    swapped_in_bytes: int | None


def read_counters() -> UsedSoFar:
    """Of this process and the machine, up to now."""
    processors = _numbers("/proc/stat", "cpu ") or []
    # user, nice, system, idle, iowait, irq, softirq, steal; the rest is part of these
    known = len(processors) >= 8
    total, idle, iowait = sum(processors[:8]), processors[3] if known else 0, processors[4] if known else 0
    swapped, own = _numbers("/proc/vmstat", "pswpin "), resource.getrusage(resource.RUSAGE_SELF)
    return UsedSoFar(
        perf_counter(),
        process_time(),
        own.ru_nivcsw,
        own.ru_minflt,
        own.ru_stime,
        resident_bytes(),
        total - idle - iowait if known else None,
        iowait if known else None,
        total if known else None,
        _read_bytes(),
        swapped[0] * _PAGE if swapped else None,
    )


def others_share(before: UsedSoFar, after: UsedSoFar) -> float | None:
    """Of the machine's processor time between both what others used than this process, loader workers among
    them; None where the kernel does not tell.
    """
    busy, seconds = _share(before, after, after.busy, before.busy), after.seconds - before.seconds
    if busy is None or seconds <= 0:
        return None
    return max(0.0, busy - (after.processor_s - before.processor_s) / seconds / (os.cpu_count() or 1))


def resident_bytes() -> int:
    """Of this process, now; 0 where the kernel does not tell."""
    pages = _numbers("/proc/self/statm", "")
    return pages[1] * _PAGE if pages else 0


def _read_bytes() -> int | None:
    """From storage, by this process and the children that live now: loader workers read most."""
    children = getattr(sys.modules.get("multiprocessing.process"), "_children", ())
    own = _numbers("/proc/self/io", "read_bytes:")
    theirs = [_numbers(f"/proc/{child.pid}/io", "read_bytes:") for child in list(children)]
    return sum(number[0] for number in (own, *theirs) if number) if own else None


def _numbers(path: str, prefix: str) -> list[int] | None:
    """The numbers of the line of `path` that begins with `prefix`."""
    try:
        with open(path, encoding="ascii") as file:
            line = next((line for line in file if line.startswith(prefix)), None)
    except OSError:
        return None
    return [int(word) for word in line[len(prefix) :].split()] if line else None


def _difference(after: int | None, before: int | None, over: float) -> float | None:
    return None if after is None or before is None or over <= 0 else max(0, after - before) / over


def _share(before: UsedSoFar, after: UsedSoFar, last: int | None, first: int | None) -> float | None:
    total = _difference(after.total, before.total, 1)
    return _difference(last, first, total) if total else None
