"""Ends the user's script from inside a tick, once every result is on disk."""

from __future__ import annotations

import contextlib
import os
import sys

_IGNORED_AT_MOST = 3


class StopRun(SystemExit):
    """Unwinds the script like its own sys.exit(0):

    `finally` blocks, context managers and atexit functions run.
    """

    def __init__(self) -> None:
        super().__init__(0)


class Stopper:
    """Raises at every tick; a script that swallows it (a bare `except:`) is left after a few."""

    def __init__(self) -> None:
        self._ignored = 0

    def stop(self) -> None:
        """Raises StopRun, or does not return at all."""
        if self._ignored >= _IGNORED_AT_MOST:
            flush_standard_streams()
            os._exit(0)
        self._ignored += 1
        raise StopRun


def flush_standard_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(
            AttributeError, OSError, ValueError
        ):  # None, closed, or nobody reads any more
            stream.flush()
