"""The heap of glibc's malloc stays as the script has it.

malloc learns: memory that was taken from the system for itself and is freed, up to 32 MiB, raises the size
up to which it takes memory from its heap, and how much may lie free at the heap's end before it is given
back. A script whose tensors come and go may give memory back and take it again in every step, each page with
a fault. Writing a recording frees more at once than such a script ever does: malloc would give nothing back
from then on, and steps would be faster than without us. (One array of 31 MiB, freed before a detector's
steps, made 38 ms of them 28.)

The heap ends above the last block in use. A recording needs tens of MB above what the script holds, and of
its small blocks malloc keeps some of each size for the thread that freed them: one of them at the end holds
all below it open, and steps that had 6,000 page faults each have none.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from ..guard import guarded
from ..loaded import is_loaded

TRIM_THRESHOLD, MMAP_MAX, MMAP_MAX_DEFAULT = -1, -4, 65_536  # of malloc.h
FAULTS_AT_LEAST = 2000  # of pages, a step: fewer take below a millisecond
_KEPT_SIZES, _MORE_THAN_KEPT = range(24, 1033, 16), 28  # for each thread; 7 or 16 of each size
_OTHERS = ("jemalloc", "tcmalloc", "mimalloc")
_NEVER_FROM_HEAP = 2**26  # bytes: malloc extends its heap by no more at once, whatever it has learned
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
    trim(0)  # so that the blocks which are taken now lie low
    _keep_low_blocks()
    trim(0)


@guarded("giving memory back")
def trim(free_bytes: int) -> None:
    """The pages of free blocks go back, and of what is free at the heap's end all but so much."""
    function = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if function is not None:
        function.argtypes = [ctypes.c_size_t]
        function(free_bytes)


@guarded("reading what is free", 0)
def free_at_the_end() -> int:
    """Bytes of the heap, which malloc can give back."""
    info = malloc_info()
    return int(info().keepcost) if info is not None else 0


def _keep_low_blocks() -> None:
    """What malloc keeps for this thread are the lowest blocks that it has."""
    take, free = _malloc_and_free()
    for size in _KEPT_SIZES:
        for block in sorted(take(size) or 0 for _ in range(_MORE_THAN_KEPT)):
            free(block)


def mallopt(parameter: int, value: int) -> bool:
    """Whether there is such a malloc, and it takes the value."""
    function = getattr(ctypes.CDLL(None), "mallopt", None)
    return function is not None and bool(function(parameter, value))


class _MallocInfo(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def malloc_info() -> Callable[[], Any] | None:
    """Reads glibc's `mallinfo2`; None where there is none."""
    info = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if info is not None:
        info.restype = _MallocInfo
    return info


def is_as_it_comes() -> bool:
    """Whether malloc is glibc's, and gives back what is freed as it sees fit."""
    return not set_by_user() and not _is_replaced() and hasattr(ctypes.CDLL(None), "mallopt")


def _is_replaced() -> bool:
    """Whether another allocator serves the process."""
    return any(map(is_loaded, _OTHERS))


def set_by_user() -> bool:
    """Whether one of malloc's parameters is set: by a variable, or the script has told it to keep all."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    by_variable = any(name in os.environ for name in _SET_BY_USER) or "glibc.malloc" in tunables
    return by_variable or _keeps_all()


def _keeps_all() -> bool:
    """Whether nothing is taken from the system one by one: M_MMAP_MAX is 0. Nothing tells but a try."""
    info = malloc_info()
    if info is None:
        return False
    take, free = _malloc_and_free()
    before = info()
    block = take(before.fordblks + _NEVER_FROM_HEAP)  # more than lies free in the heap
    keeps = block is not None and info().hblks <= before.hblks
    free(block)
    return keeps


def _malloc_and_free() -> tuple[Any, Any]:
    library = ctypes.CDLL(None)
    take, free = library.malloc, library.free
    take.restype, take.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    return take, free
