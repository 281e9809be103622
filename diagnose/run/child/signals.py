"""Which signals the script handles itself."""

from __future__ import annotations

import signal
import threading


def is_free(number: int) -> bool:
    """Whether nothing handles the signal, in Python or in C, and this thread may set what does."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL
        and not is_caught("self", number)
    )


def takes_ctrl_c() -> bool:
    """Whether the script has a handler of its own for it, as one that ends the epoch and saves first."""
    return callable(handler := signal.getsignal(signal.SIGINT)) and handler is not signal.default_int_handler


def is_caught(process: int | str, number: int) -> bool:
    """Whether it has a handler for the signal, also one that its Python does not know of, as
    `faulthandler.register` sets; False where the kernel does not tell.
    """
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
            caught = next(line.split()[1] for line in file if line.startswith("SigCgt:"))
        return bool(int(caught, 16) >> (number - 1) & 1)
    except (OSError, StopIteration, ValueError, IndexError):
        return False
