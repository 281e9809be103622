"""A look at where another thread is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from random import Random
from time import sleep
from types import FrameType
from typing import TypeVar

WAITS_S = 0.008  # at most: longer than Python's lock is ever kept from who waits for it
_SWITCHES_S = 1e-4
_SAME_S = 1e-6  # Python keeps whole microseconds
_random = Random(0).random  # not the one that the script may have seeded

_before_s: list[float] = []  # of looks that go on

T = TypeVar("T")


def seen_now(
    thread: int,
    read: Callable[[FrameType | None], T],
    within_s: float = WAITS_S,
    wait: Callable[[float], object] = sleep,
) -> T:
    """What ``read`` makes of the frame that another thread is in; the calling one waits for it,
    ``within_s`` at most, half of that on average. ``wait``: for so many seconds, or until there is no more
    to look at.

    Who waits for Python's lock gets it where the other thread gives it up, and in pure Python that is after
    five milliseconds: each look would fall on a call of torch's that gives it up sooner. So the calling
    thread sleeps for a time that has nothing to do with the script, and then gets the lock at once. A child
    that is forked meanwhile has the script's own interval.
    """
    _before_s.append(sys.getswitchinterval())
    try:
        sys.setswitchinterval(_SWITCHES_S)
        wait(_random() * within_s)
        return read(sys._current_frames().get(thread))
    finally:
        _put_back()


def _put_back() -> None:
    """Unless the script has set another one meanwhile."""
    while _before_s:
        before_s = _before_s.pop()
        if abs(sys.getswitchinterval() - _SWITCHES_S) < _SAME_S:
            sys.setswitchinterval(before_s + _SAME_S / 2)  # for Python cuts the rest off


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_put_back)
