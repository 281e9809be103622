"""Whether the process that started the run, and waits for its end, is still there."""

from __future__ import annotations

import os
import platform
from typing import Any


def identity() -> dict[str, Any]:
    """Of this process; its number may be another's later."""
    pid = os.getpid()
    return {"host": platform.node(), "pid": pid, "started": _started(pid)}


def is_gone(launcher: dict[str, Any] | None) -> bool:
    """A process that it left behind, as a job that its script has submitted, is nobody's to record or to end.
    False where that cannot be told, as on another machine.
    """
    if launcher is None or launcher["started"] is None or launcher["host"] != platform.node():
        return False
    return _started(launcher["pid"]) != launcher["started"]


def _started(pid: int) -> int | None:
    """Since the machine was, in ticks of its kernel; None where there is no such process, or no telling."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[19])  # field 22, see proc(5)
    except (OSError, ValueError, IndexError):
        return None
