"""Memory that is free goes back to the system."""

from __future__ import annotations

import ctypes

_M_MMAP_THRESHOLD = -3  # of mallopt(3)
_LARGE = 8 * 2**20  # bytes: arrays of a million events


def give_back() -> None:
    """Give the system what malloc keeps of freed memory; nothing where it cannot be asked to.

    What small blocks leave behind lies scattered between what stays, and arrays of the next stage do not
    fit in: a trace of 1 GB was read into 180 MB of tables, and the process held 580.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def large_blocks_apart() -> None:
    """From now on malloc asks the system for each large block, and gives it back when it is freed; nothing
    where it cannot be asked to. For processes of our own only.

    Else it learns from what is freed to keep blocks of up to 32 MB, and the next ones do not fit between
    what stays: the peak of a trace of 1 GB was 600 to 628 MB, by chance, instead of 592 to 604.
    """
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_M_MMAP_THRESHOLD, _LARGE)
