"""SIGTERM, which by default kills a process with all that it is recording: here that is written first.

A script that handles the signal itself is left alone. Otherwise the process dies of it all the
same, so that its parent sees what it would see without us. Python's handlers run between two lines
of the main thread. If that waits in a collective whose other ranks are gone, it comes to none: so a
thread of ours hears of the signal, too.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .guard import guarded
from .signals import is_free

_PATIENCE_S = 1.0  # for the main thread to come to a line of Python


class Termination:
    """Calls `write` when SIGTERM comes, and then dies of it.

    `write` is called in the main thread, or in another if that is stuck.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._first = threading.Lock()  # taken by the thread that writes, and never given back
        self._heard = threading.Event()  # by the main thread
        self._deferring = 0
        self._sockets: tuple[socket.socket, socket.socket] | None = None  # ours, Python's

    def install(self) -> None:
        """Nothing, where the script handles the signal or is woken by signals
        itself, or this is not the main thread. `threading` does not know of our thread: a script may wait for
        the end of all others.
        """
        if not is_free(signal.SIGTERM):
            return
        ours, pythons = socket.socketpair()
        pythons.setblocking(False)
        theirs = signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
        if theirs != -1:
            signal.set_wakeup_fd(theirs)
            return
        self._sockets = ours, pythons
        signal.signal(signal.SIGTERM, self._on_signal)
        _thread.start_new_thread(self._listen, (ours,))

    def remove(self) -> None:
        """Give the signal back, unless the script has taken it meanwhile. In the main thread; also of a
        forked child, where no signal may be told to the parent's thread.
        """
        if self._sockets is None or threading.current_thread() is not threading.main_thread():
            return
        pythons, self._sockets = self._sockets[1], None
        theirs = signal.set_wakeup_fd(-1)
        if theirs not in (-1, pythons.fileno()):
            signal.set_wakeup_fd(theirs)
        if self._is_ours():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        pythons.close()  # with that the thread ends

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """What is being written is written to its end before the process dies."""
        self._deferring += 1
        try:
            yield
        finally:
            self._deferring -= 1
            if self._heard.is_set() and not self._deferring:
                self._end()

    def _on_signal(self, number: int, frame: object) -> None:
        self._heard.set()
        if not self._deferring:
            self._end()

    @guarded("listening for SIGTERM")
    def _listen(self, signals: socket.socket) -> None:
        """In our thread: one byte is a signal that Python has a handler for; none is the end."""
        with signals:
            while numbers := signals.recv(16):
                if signal.SIGTERM in numbers and not self._heard.wait(_PATIENCE_S) and self._is_ours():
                    self._end()

    def _is_ours(self) -> bool:
        """The script has not taken the signal meanwhile."""
        return signal.getsignal(signal.SIGTERM) == self._on_signal

    def _end(self) -> None:
        """Once, in whichever thread comes first."""
        if not self._first.acquire(blocking=False):
            return
        try:
            self._write()
        finally:
            # SIG_DFL; Python's own function is for the main thread alone
            ctypes.CDLL(None).signal(int(signal.SIGTERM), None)
            os.kill(os.getpid(), signal.SIGTERM)
