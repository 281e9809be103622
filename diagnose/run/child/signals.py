"""Which signals the script handles itself."""

from __future__ import annotations

import signal
import threading


def is_free(number: int) -> bool:
    """Whether nothing handles the signal, in Python or in C, and this thread may set what does."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL
        and not _is_caught(number)
    )


def takes_ctrl_c() -> bool:
    """Whether the script has a handler of its own for it, as one that ends the epoch and saves first."""
    return callable(handler := signal.getsignal(signal.SIGINT)) and handler is not signal.default_int_handler


def _is_caught(number: int) -> bool:
    """As `faulthandler.register` does without Python's knowing; False where the kernel does not tell."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            caught = next(line.split()[1] for line in file if line.startswith("SigCgt:"))
        return bool(int(caught, 16) >> (number - 1) & 1)
    except (OSError, StopIteration, ValueError, IndexError):
        return False
