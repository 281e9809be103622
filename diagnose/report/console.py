"""The terminal that is written to, if it is one."""

from __future__ import annotations

import os
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
