"""The cores that a process is bound to before it has read how many there are; no torch."""

from __future__ import annotations

import contextlib
import os

CORES = "DIAGNOSE_CORES"  # those that a fix binds it to: 0,1
_BEFORE = "DIAGNOSE_CORES_BEFORE"


def bind() -> None:
    """To `CORES`, if it is set: libraries count cores once, when they are loaded. Whatever the process starts
    inherits it, and what there was before.
    """
    asked = os.environ.get(CORES)
    if not asked or not hasattr(os, "sched_setaffinity"):
        return
    os.environ.setdefault(_BEFORE, ",".join(map(str, sorted(os.sched_getaffinity(0)))))
    with contextlib.suppress(OSError, ValueError):  # the fix says so
        os.sched_setaffinity(0, _read(asked))


def before_binding() -> set[int]:
    """Those that the script may use without the fix."""
    told = os.environ.get(_BEFORE)
    return _read(told) if told else os.sched_getaffinity(0)


def _read(told: str) -> set[int]:
    return {int(core) for core in told.split(",")}
