"""Files of ours that stay open, by descriptor. A script may close every descriptor that it has not opened,
and open files of its own that get the same numbers.
"""

from __future__ import annotations

import os

_opened: dict[int, tuple[int, int]] = {}  # by descriptor the device and number of the file that it is for


def open_ours(path: str, flags: int, mode: int = 0o644) -> int:
    """Raises OSError."""
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), mode)
    _opened[descriptor] = _file_of(descriptor)
    return descriptor


def is_ours(descriptor: int) -> bool:
    try:
        return _opened.get(descriptor) == _file_of(descriptor)
    except OSError:  # it is closed
        return False


def close_ours(descriptor: int) -> None:
    """Nothing where it is another file's by now. Raises OSError."""
    mine = is_ours(descriptor)
    _opened.pop(descriptor, None)
    if mine:
        os.close(descriptor)


def _file_of(descriptor: int) -> tuple[int, int]:
    told = os.fstat(descriptor)
    return told.st_dev, told.st_ino
