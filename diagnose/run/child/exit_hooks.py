"""What is recorded is written whichever way the process ends."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any

from .stop import flush_standard_streams


def call_at_every_end(flush: Callable[[], None]) -> None:
    """`flush` is called by the interpreter's own end and by `os._exit`; it may be called twice."""
    atexit.register(flush)
    leave: Any = os._exit

    def _exit(status: int) -> None:
        flush()
        flush_standard_streams()
        leave(status)

    os._exit = _exit  # type: ignore[assignment]
