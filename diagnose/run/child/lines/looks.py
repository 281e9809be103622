"""A look at where another thread is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from time import sleep
from types import FrameType
from typing import TypeVar

WAITS_S = 0.008  # at most: longer than Python's lock is ever kept from who waits for it
_SWITCHES_S = 1e-4
_random = Random(0).random  # not the one that the script may have seeded

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
    thread sleeps for a time that has nothing to do with the script, and then gets the lock at once.
    """
    before_s = sys.getswitchinterval()
    try:
        sys.setswitchinterval(_SWITCHES_S)
        wait(_random() * within_s)
        return read(sys._current_frames().get(thread))
    finally:
        sys.setswitchinterval(before_s)
