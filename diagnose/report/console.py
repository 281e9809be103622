"""The terminal that is written to, if it is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

_IN_ASCII = str.maketrans("–−·×“”█▉▊▋▌▍▎▏…\N{NO-BREAK SPACE}", '---x""#####:::~ ')


def stderr_console(*, quiet: bool = False) -> Console:
    """Colours and wrapping in a terminal, plain unwrapped lines elsewhere; respects NO_COLOR.

    `quiet`: prints nothing.
    """
    from rich.console import Console

    file = None if _shows_marks(sys.stderr) else cast("TextIO", _Ascii(sys.stderr))
    made = partial(Console, file=file, stderr=True, highlight=False, emoji=False, markup=False, quiet=quiet)
    console = made()
    return console if console.is_terminal else made(width=1000, color_system=None)


def _shows_marks(stream: TextIO) -> bool:
    try:
        "".join(map(chr, _IN_ASCII)).encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class _Ascii:
    """A stream that is written our marks in ASCII."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.translate(_IN_ASCII))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
