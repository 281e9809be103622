"""Every error a user can meet, and the exit code it ends with.

DiagnoseError                exit 1   our own failure
├── UsageError               exit 2   the command line asks for something impossible
├── TraceUnreadable          exit 2   the file is no trace we can read
└── ScriptFailed             exit 3   the user's script failed by itself
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeVar

EXIT_OK = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_SCRIPT_FAILED = 3
EXIT_INTERRUPTED = 130  # what a shell reports after Ctrl-C
EXIT_FINDINGS = 4  # --fail-on: the report was written and holds a finding that severe


class DiagnoseError(Exception):
    """One failure told in three parts: what happened, what we saw, what to do."""

    exit_code = EXIT_FAILURE

    def __init__(self, what: str, *, saw: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what, self.saw, self.do = what, saw, do

    def __str__(self) -> str:
        lines = [self.what]
        if self.saw:
            lines.append(f"  saw: {self.saw}")
        if self.do:
            lines.append(f"  do:  {self.do}")
        return "\n".join(map(_shown, lines))


def _shown(line: str) -> str:
    """The line as a terminal may get it: names from a file can hold escape sequences.

    Line breaks of our own advice stay.
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in line
    )


class UsageError(DiagnoseError):
    """The command line asks for something impossible (a missing file, a bad value)."""

    exit_code = EXIT_USAGE


class TraceUnreadable(DiagnoseError):
    """The file is not a trace this tool reads, or nothing in it can be recovered."""

    exit_code = EXIT_USAGE


class ScriptFailed(DiagnoseError):
    """The user's script failed by itself; its own traceback has been shown."""

    exit_code = EXIT_SCRIPT_FAILED


Name = TypeVar("Name", bound=str)


def known_name(name: str, valid: Iterable[Name], where: str) -> Name:
    """The name as one of the valid ones; raises DiagnoseError with the nearest if it is none of them."""
    valid = list(valid)
    if name in valid:
        return valid[valid.index(name)]
    near = difflib.get_close_matches(name, valid, n=1)
    raise DiagnoseError(
        f"{where}: {name!r} is unknown",
        do=f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(sorted(valid))}",
    )
