"""What is recorded is written whichever way the process ends."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any

from .stop import flush_standard_streams


def call_at_every_end(flush: Callable[[], None]) -> None:
    """`flush` is called by the interpreter's own end and by `os._exit`; it may be called twice. What a
    forked child's streams hold is its parent's, which writes it.
    """
    atexit.register(flush)
    leave: Any = os._exit
    process = os.getpid()

    def _exit(status: int) -> None:
        flush()
        if os.getpid() == process:
            flush_standard_streams()
        leave(status)

    os._exit = _exit  # type: ignore[assignment]
