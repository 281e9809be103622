"""What of ours fails is noted, and never reaches the script.

Every function of ours that the script's own calls run through is guarded: hooks, wrappers before and after
the call they stand for, facts, writing. `StopRun` and Ctrl-C are no exceptions in this sense and pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_ERROR_AT_MOST = 200
_failures: dict[str, str] = {}  # what failed → how, the first time


def note(what: str, error: BaseException) -> None:
    """Remember that `what` failed; the first failure of each counts.

    Never raises, whatever the error's own text does.
    """
    if what in _failures:
        return
    try:
        _failures[what] = f"{type(error).__name__}: {error}"[:_ERROR_AT_MOST]
    except Exception:
        _failures[what] = "an exception without a text"


def notes() -> list[str]:
    """A sentence about each failure."""
    return [
        f"{what[:1].upper()}{what[1:]} failed, so its results may be missing ({error})."
        for what, error in _failures.items()
    ]


def attempt(what: str, function: Callable[[], Any], otherwise: Any) -> Any:
    """The function's result, or `otherwise` where it fails."""
    try:
        return function()
    except Exception as error:
        note(what, error)
        return otherwise


def guarded(what: str, otherwise: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function so that it returns `otherwise` where it fails."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                note(what, error)
                return otherwise

        call.guard = decorate  # type: ignore[attr-defined]  # for tests that plant faults inside of it
        return call

    return decorate
