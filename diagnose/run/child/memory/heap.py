"""The heap of glibc's malloc stays as the script has it.

malloc learns: memory that was taken from the system for itself and is freed, up to 32 MiB, raises the size
up to which it takes memory from its heap, and how much may lie free at the heap's end before it is given
back. A script whose tensors come and go may give memory back and take it again in every step, each page with
a fault. Writing a recording frees more at once than such a script ever does: malloc would give nothing back
from then on, and steps would be faster than without us. (One array of 31 MiB, freed before a detector's
steps, made 38 ms of them 28.) What still lies high in the heap keeps it open all the same.
"""

from __future__ import annotations

import ctypes
import os

from ..guard import guarded

TRIM_THRESHOLD, MMAP_MAX, MMAP_MAX_DEFAULT = -1, -4, 65_536  # of malloc.h
_SET_BY_USER = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")


@guarded("keeping malloc as it is")
def keep_thresholds() -> None:
    """malloc learns no more. Harmless when repeated, and where it is another allocator's, or does not learn:
    one of its parameters is set.
    """
    if not set_by_user():
        mallopt(MMAP_MAX, MMAP_MAX_DEFAULT)  # the number that it has anyway


@guarded("giving memory back")
def give_back() -> None:
    """What lies free in glibc's heap goes back to the system: a recording leaves hundreds of MB there."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def mallopt(parameter: int, value: int) -> bool:
    """Whether there is such a malloc, and it takes the value."""
    function = getattr(ctypes.CDLL(None), "mallopt", None)
    return function is not None and bool(function(parameter, value))


def set_by_user() -> bool:
    """Whether one of malloc's parameters is set."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return any(name in os.environ for name in _SET_BY_USER) or "glibc.malloc" in tunables
