"""The terminal that is written to, if it is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def stderr_console(*, quiet: bool = False) -> Console:
    """Colours and wrapping in a terminal, plain unwrapped lines elsewhere; respects NO_COLOR.

    `quiet`: prints nothing.
    """
    from rich.console import Console

    console = Console(stderr=True, highlight=False, emoji=False, markup=False, quiet=quiet)
    if console.is_terminal:
        return console
    return Console(
        stderr=True, highlight=False, emoji=False, markup=False, quiet=quiet, width=1000, color_system=None
    )


def obeys(stream: TextIO) -> bool:
    """Whether the stream is a terminal that moves its cursor when told to."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


@contextmanager
def telling(stream: TextIO) -> Iterator[None]:
    """What is said there meanwhile. Where nobody can hear it (a closed pipe, a terminal that is gone, a full
    disk) that is no error; nor is what is said later, or is still to be written when we end: it goes nowhere.
    """
    try:
        yield
    except OSError:
        try:
            stream.flush()
        except OSError:
            with suppress(OSError), open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
