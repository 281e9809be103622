"""`kill -USR1`, by which somebody asks for a recording of a watched run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from ..signals import is_free

_NUMBER = getattr(signal, "SIGUSR1", None)


class SnapSignal:
    """Left alone where the script takes the signal itself; without us it would end the process."""

    def __init__(self, asked: Callable[[], None]) -> None:
        self._asked = asked

    def install(self) -> None:
        """In the main thread; nothing in another."""
        if _NUMBER is not None and is_free(_NUMBER):
            signal.signal(_NUMBER, self._on_signal)

    def remove(self) -> None:
        """Unless the script has taken it meanwhile. Harmless when repeated."""
        if (
            _NUMBER is not None
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(_NUMBER) == self._on_signal
        ):
            signal.signal(_NUMBER, signal.SIG_DFL)

    def _on_signal(self, number: int, frame: object) -> None:
        self._asked()
